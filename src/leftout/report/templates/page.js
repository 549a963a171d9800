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
// What does not scroll need not be a stop on the way through the page; what does says so.
var fit = function () {
  document.querySelectorAll(".scroll").forEach(function (box) {
    var wide = box.scrollWidth > box.clientWidth;
    box.classList.toggle("wide", wide);
    if (wide) box.setAttribute("tabindex", "0");
    else box.removeAttribute("tabindex");
  });
};
fit();
window.addEventListener("resize", fit);
document.querySelectorAll("details").forEach(function (part) { part.addEventListener("toggle", fit); });
// A link opens what it leads to.
var reveal = function (hash) {
  var target = hash.length > 1 && document.getElementById(hash.slice(1));
  for (var part = target; part; part = part.parentElement) {
    if (part.tagName === "DETAILS") part.open = true;
  }
  if (target) target.scrollIntoView();
};
document.querySelectorAll('a[href^="#"]').forEach(function (link) {
  link.addEventListener("click", function () { reveal(link.hash); });
});
window.addEventListener("hashchange", function () { reveal(location.hash); });
if (location.hash) reveal(location.hash);
// Paper has everything, and afterwards the page is as it was.
var folded = [];
window.addEventListener("beforeprint", function () {
  folded = Array.prototype.slice.call(document.querySelectorAll("details:not([open])"));
  folded.forEach(function (part) { part.open = true; });
});
window.addEventListener("afterprint", function () {
  folded.forEach(function (part) { part.open = false; });
});
