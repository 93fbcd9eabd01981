"use strict";
(function () {
  const root = document.documentElement;

  // Theme: auto follows the system; the choice is kept for this file where the browser allows it.
  const button = document.getElementById("theme");
  const themes = ["auto", "light", "dark"];
  function setTheme(name) {
    if (name === "auto") root.removeAttribute("data-theme");
    else root.setAttribute("data-theme", name);
    button.querySelector("span").textContent = name;
    try { localStorage.setItem("culvert-theme", name); } catch (error) { /* private window */ }
  }
  let stored = null;
  try { stored = localStorage.getItem("culvert-theme"); } catch (error) { /* private window */ }
  setTheme(themes.includes(stored) ? stored : "auto");
  button.hidden = false;
  button.addEventListener("click", function () {
    const now = root.getAttribute("data-theme") || "auto";
    setTheme(themes[(themes.indexOf(now) + 1) % themes.length]);
  });

  // A link to a folded section opens it.
  const reveal = function () {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const fold = target && (target.querySelector(":scope > .fold") || target.closest(".fold"));
    if (fold) { fold.open = true; target.scrollIntoView(); }
  };
  window.addEventListener("hashchange", reveal);
  reveal();

  // On paper nothing can be opened: folded sections and the machine are printed open.
  const closed = Array.from(
    document.querySelectorAll(".fold:not([open]), .trees details:not([open])"));
  window.addEventListener("beforeprint", function () {
    closed.forEach(function (details) { details.open = true; });
  });
  window.addEventListener("afterprint", function () {
    closed.forEach(function (details) { details.open = false; });
  });

  // Filter of the trials.
  const form = document.getElementById("filter");
  if (form) {
    const rows = Array.from(document.querySelectorAll("#every-trial tbody tr"));
    const texts = rows.map(function (row) { return row.textContent.toLowerCase(); });
    const shown = document.getElementById("shown");
    const apply = function () {
      const wanted = form.elements.text.value.trim().toLowerCase();
      const statuses = Array.from(form.querySelectorAll("input[name=status]:checked"),
        function (box) { return box.value; });
      let count = 0;
      rows.forEach(function (row, index) {
        const keep = statuses.includes(row.dataset.status) && texts[index].includes(wanted);
        row.hidden = !keep;
        if (keep) count += 1;
      });
      shown.textContent = count + " of " + rows.length + " trials";
    };
    form.addEventListener("input", apply);
    form.addEventListener("submit", function (event) { event.preventDefault(); });
    form.hidden = false;
    apply();
  }
})();
