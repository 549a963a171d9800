"""The report as PDF, printed by a browser of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

# Browsers that print without a window, by the names that systems give them.
_BROWSERS = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge",
    "microsoft-edge",
)  # fmt: skip
_SECONDS = 120.0


def pdf(page: str) -> tuple[bytes | None, str]:
    """The page as a PDF file; or None, and a sentence on why there is none."""
    found = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if found is None:
        return None, (
            "There is no report.pdf: no Chromium, Chrome or Edge was found to print it with. Open "
            "report.html in any browser and print it."
        )
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "report.html").write_text(page, encoding="utf-8")
        command = [
            found, "--headless", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", f"--user-data-dir={folder / 'profile'}",
            "--no-pdf-header-footer", f"--print-to-pdf={folder / 'report.pdf'}",
            (folder / "report.html").as_uri(),
        ]  # fmt: skip
        if getattr(os, "geteuid", lambda: 1)() == 0:  # as root its sandbox cannot start
            command.insert(1, "--no-sandbox")
        try:
            subprocess.run(command, capture_output=True, timeout=_SECONDS, check=True)
            return (folder / "report.pdf").read_bytes(), ""
        except (OSError, subprocess.SubprocessError):
            return None, (
                f"There is no report.pdf: {Path(found).name} could not print it. Open report.html "
                "and print it there."
            )
