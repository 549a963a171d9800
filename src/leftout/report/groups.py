"""Each of several left-out groups as the sections of a page want it: like an audit of one."""

from collections.abc import Mapping
from typing import Any

from leftout.report.gists import by_column, carriers
from leftout.text import counted

Data = Mapping[str, Any]
_EVIDENCE = ("p_value", "p_cloud", "verdict", "verdict_name")


def group_sections(data: Data) -> list[dict[str, Any]]:
    """What the section of each group shows, under the names that an audit of one group has."""
    return [_told(data, group) for group in data["groups"]]


def _told(data: Data, group: Data) -> dict[str, Any]:
    details = group["details"]
    return {
        "mark": f"-{group['label']}",
        "title": f"Left-out group {group['label']}",
        "gist": _gist(group),
        "lines": {"What": group["answer"]["fact"], **group["answer"]["lines"]},
        "explanation": details["explanation"],
        "trust": {
            **{key: group[key] for key in _EVIDENCE},
            "rows": data["trust"]["rows"],
            "of_rows": data["trust"]["of_rows"],
            "notes": details["notes"] or [],
            "chance": details["chance"] or {},
            "evidence_size": None,
            "evidence_range": None,
        },
        "parts": group["parts"],
        "carriers": carriers(group["parts"]),
        "by_column": by_column(group["parts"]),
        "answers": {finding["code"]: finding for finding in details["findings"]},
        "findings": details["findings"],
        "partition": {
            "disparity": group["disparity"],
            "group_size": group["rows"],
            "bound": group["bound"],
        },
        "harm": details["harm"],
        "prediction": details["prediction"],
    }


def _gist(group: Data) -> str:
    verdict = f"; {group['verdict_name']}" if group["verdict_name"] else ""
    return f"{counted(group['rows'], 'row')}{verdict}: {group['answer']['who']}"
