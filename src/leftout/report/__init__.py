"""What people read of an audit: a page that needs nothing else, and a short note for notebooks.

Everything comes from the dict that ``audit.json`` holds, through templates that escape it.
"""
