"use strict";
// Tables sort by the column whose head is pressed; without this script they are as they are.
document.querySelectorAll("table.sortable").forEach(function (table) {
  var heads = table.tHead.rows[0].cells;
  Array.prototype.forEach.call(heads, function (head, place) {
    var button = document.createElement("button");
    button.type = "button";
    while (head.firstChild) button.appendChild(head.firstChild);
    head.appendChild(button);
    button.addEventListener("click", function () {
      var number = table.tBodies[0].rows[0].cells[place].hasAttribute("data-value");
      var now = head.getAttribute("aria-sort");
      var up = now === "descending" || (now === null && !number);
      Array.prototype.forEach.call(heads, function (other) { other.removeAttribute("aria-sort"); });
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      var rows = Array.prototype.slice.call(table.tBodies[0].rows);
      var key = function (row) { return row.cells[place].getAttribute("data-value"); };
      rows.sort(function (a, b) {
        var x = key(a), y = key(b), order;
        if (x !== null && y !== null) order = (x === "" ? -Infinity : +x) - (y === "" ? -Infinity : +y);
        else order = a.cells[place].textContent.localeCompare(b.cells[place].textContent);
        return up ? order : -order;
      });
      rows.forEach(function (row) { table.tBodies[0].appendChild(row); });
    });
  });
});
// What does not scroll need not be a stop on the way through the page.
var fit = function () {
  document.querySelectorAll(".scroll").forEach(function (box) {
    if (box.scrollWidth > box.clientWidth) box.setAttribute("tabindex", "0");
    else box.removeAttribute("tabindex");
  });
};
fit();
window.addEventListener("resize", fit);
document.querySelectorAll("details").forEach(function (part) { part.addEventListener("toggle", fit); });
window.addEventListener("beforeprint", function () {
  document.querySelectorAll("details").forEach(function (part) { part.open = true; });
});
