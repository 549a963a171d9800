"use strict";
// A file may be dropped; one that is too large need not be sent first.
(function () {
  var form = document.getElementById("upload");
  if (!form) return;
  var input = form.querySelector("input[type=file]"), says = document.getElementById("sending");
  ["dragover", "dragenter"].forEach(function (name) {
    form.addEventListener(name, function (event) { event.preventDefault(); form.classList.add("over"); });
  });
  ["dragleave", "drop"].forEach(function (name) {
    form.addEventListener(name, function () { form.classList.remove("over"); });
  });
  form.addEventListener("drop", function (event) {
    event.preventDefault();
    if (!event.dataTransfer.files.length) return;
    input.files = event.dataTransfer.files;
    input.focus();
  });
  form.addEventListener("submit", function (event) {
    var file = input.files[0];
    if (file && file.size > +form.dataset.most) {
      event.preventDefault();
      says.textContent = "The file is larger than " + form.dataset.size + ", which is the most this page takes.";
      return;
    }
    says.textContent = "The file is being copied.";
  });
})();

// Progress, asked for as long as it is seen to move.
(function () {
  var base = document.body.dataset.follow;
  if (!base) return;
  var of = function (id) { return document.getElementById(id); };
  var state = document.body.dataset.state, stage = "", known = "";
  var show = function (now) {
    if (now.state !== state) { window.location.replace(base); return false; }
    var percent = Math.round(100 * now.share) + "%";
    of("what").textContent = now.state === "queued" ? now.ahead + (now.ahead === 1 ? " audit" : " audits") + " before this one." : now.what || "starting";
    of("share").value = now.share;
    of("percent").textContent = percent;
    var begun = now.what.split(":")[0];
    var lines = JSON.stringify([now.headline, now.lines]);
    var news = [];
    if (begun !== stage) { stage = begun; news.push(begun + ", " + percent); }
    if (now.headline && lines !== known) {
      known = lines;
      of("answer").hidden = false;
      of("headline").textContent = now.headline;
      var list = of("lines");
      list.textContent = "";
      Object.keys(now.lines).forEach(function (question) {
        var line = list.appendChild(document.createElement("div"));
        line.appendChild(document.createElement("dt")).textContent = question;
        line.appendChild(document.createElement("dd")).textContent = now.lines[question];
      });
      news.push("The answer so far: " + now.headline);
    }
    if (news.length) of("said").textContent = news.join(". ");
    return true;
  };
  var poll = function () {
    fetch(base + "/state", { credentials: "same-origin" }).then(function (answer) {
      if (answer.status === 404 || answer.status === 403) { window.location.replace(base); return null; }
      return answer.json();
    }).then(function (now) { if (now && show(now)) setTimeout(poll, document.hidden ? 3000 : 200); })
      .catch(function () {
        of("what").textContent = "The server does not answer. Is it still running?";
        setTimeout(poll, 3000);
      });
  };
  poll();
})();

// Nothing is sent before somebody presses a button: arrow keys pass other roles on their way.
(function () {
  var form = document.getElementById("columns");
  if (!form) return;
  form.addEventListener("change", function (event) {
    if (event.target.name.indexOf("role-") === 0) document.getElementById("unkept").hidden = false;
  });
  // Rows whose column is called like that, or is of that kind.
  var search = form.querySelector("#q");
  if (!search) return;
  search.parentElement.hidden = false;
  search.addEventListener("input", function () {
    var wanted = search.value.trim().toLowerCase(), found = 0;
    form.querySelectorAll(".columns tbody tr").forEach(function (row) {
      row.hidden = (row.cells[0].textContent + " " + row.cells[1].textContent).toLowerCase().indexOf(wanted) < 0;
      if (!row.hidden) found += 1;
    });
    document.getElementById("found").textContent = wanted ? found + (found === 1 ? " column found." : " columns found.") : "";
  });
  search.addEventListener("keydown", function (event) { if (event.key === "Enter") event.preventDefault(); });
})();

// What went wrong is what people should hear first.
(function () {
  var problem = document.getElementById("problem");
  if (problem) problem.focus();
})();
