"""A page in a browser."""

from __future__ import annotations


def opened(browser, path, width=1280, scheme="light"):
    """A page, and what it said and asked for."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    tab = context.new_page()
    heard = {"console": [], "requests": []}
    tab.on("console", lambda message: heard["console"].append(message.text))
    tab.on("pageerror", lambda error: heard["console"].append(str(error)))
    tab.on("dialog", lambda dialog: heard["console"].append("dialog"))
    tab.on("request", lambda request: heard["requests"].append(request.url))
    tab.goto(path.as_uri())
    return tab, heard
