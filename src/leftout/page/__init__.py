"""The local web page: a form in, the report of the command line out.

The server reads no table and searches nothing: processes of their own do, one at a time, and what
they find lies in files. :func:`leftout.page.serving.serve` runs it.
"""
