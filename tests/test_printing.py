"""The report as PDF: by a browser of this machine, or a sentence on why not."""

from __future__ import annotations

import shutil
import stat

import pytest

import known
from golden import page_of
from leftout.report import printing

PAGE = "<!doctype html><title>t</title><p>Kept: 84%</p>"


def browser_that(does, tmp_path, monkeypatch):
    """A browser of a few words of shell."""
    path = tmp_path / "chromium"
    path.write_text(f"#!/bin/sh\n{does}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    wanted = {"chromium": str(path)}
    monkeypatch.setattr(shutil, "which", wanted.get)


def test_without_a_browser_one_sentence_says_so(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    made, why = printing.pdf(PAGE)
    assert made is None and "no Chromium, Chrome or Edge was found" in why and why.count("\n") == 0


def test_a_browser_that_fails_is_no_error(tmp_path, monkeypatch):
    browser_that("exit 3", tmp_path, monkeypatch)
    made, why = printing.pdf(PAGE)
    assert made is None and "chromium could not print it" in why


def test_a_browser_is_given_a_folder_of_its_own(tmp_path, monkeypatch):
    copy = 'for a; do case $a in --print-to-pdf=*) echo "$@" > ${a#*=};; esac; done'
    browser_that(copy, tmp_path, monkeypatch)
    made, why = printing.pdf(PAGE)
    said = made.decode()
    assert why == "" and "--user-data-dir=" in said and "--disable-background-networking" in said


def test_what_is_printed_has_all_sections(tmp_path):
    if shutil.which("chromium") is None:
        pytest.skip("there is no chromium here")
    made, why = printing.pdf(page_of(known.audit()))
    assert (
        why == ""
        and made.startswith(b"%PDF")
        and made.count(b"/Type /Page\n") + made.count(b"/Type /Page ") + made.count(b"/Type/Page")
        >= 5
    )
