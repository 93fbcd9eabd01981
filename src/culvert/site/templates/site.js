"use strict";
(function () {
  // Filters: rows that contain every word.
  document.querySelectorAll("form.filter").forEach(function (form) {
    const rows = Array.from(document.querySelectorAll("#" + form.dataset.for + " tbody tr"));
    const texts = rows.map(function (row) { return row.textContent.toLowerCase(); });
    const apply = function () {
      const words = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
      let count = 0;
      rows.forEach(function (row, index) {
        row.hidden = !words.every(function (word) { return texts[index].includes(word); });
        if (!row.hidden) count += 1;
      });
      form.querySelector("output").textContent = count + " of " + rows.length + " rows";
    };
    form.addEventListener("input", apply);
    form.addEventListener("submit", function (event) { event.preventDefault(); });
    form.hidden = false;
    apply();
  });

  // Sorting: a button in each head; rows without a figure stay last.
  document.querySelectorAll("th[aria-sort]").forEach(function (head) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", function () {
      const down = head.getAttribute("aria-sort") === "ascending";
      head.parentNode.querySelectorAll("th").forEach(function (one) { one.setAttribute("aria-sort", "none"); });
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const body = head.closest("table").tBodies[0];
      const key = function (row) {
        const cell = row.cells[head.cellIndex];
        if (cell.classList.contains("none")) return null;
        return cell.dataset.value === undefined ? cell.textContent.trim() : Number(cell.dataset.value);
      };
      const keyed = Array.from(body.rows, function (row) { return [key(row), row]; });
      keyed.sort(function ([a], [b]) {
        if (a === null || b === null) return (a === null) - (b === null);
        const order = typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
        return down ? -order : order;
      });
      body.append(...keyed.map(function ([, row]) { return row; }));
    });
  });
})();
