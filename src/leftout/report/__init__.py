"""From plain data to what people read: pages that need nothing else, and a short note.

Everything comes from the dict that ``audit.json`` holds, through templates that escape it; only
figures are drawn by the functions that come with it.
"""

from leftout.report.pages import brief, page

__all__ = ["brief", "page"]
