"""From plain data to what people read: pages that need nothing else, and a short note.

Everything comes from the dicts that ``audit.json`` and ``reproduction.json`` hold, through
templates that escape it; only figures are drawn by the functions that come with it.
"""

from leftout.report.figures import standalone
from leftout.report.pages import brief, page, reproduction

__all__ = ["brief", "page", "reproduction", "standalone"]
