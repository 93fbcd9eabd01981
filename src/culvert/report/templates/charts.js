"use strict";
// Charts are drawn when they come near the window, and when the page is printed.
(function () {
  const element = document.getElementById("charts");
  if (!element) return;
  const charts = JSON.parse(element.textContent);
  // `ast` interprets expressions instead of compiling them: the policy forbids eval.
  const options = {
    mode: "vega-lite", renderer: "svg", actions: false, ast: true, config: charts.config,
    tooltip: { theme: "custom" },
  };
  // In a narrower place its labels would be cut off: there the whole drawing is made smaller.
  const least = 480;
  const fitting = function (panel, width) {
    if (panel.width !== "container" || width >= least) return panel;
    return Object.assign({}, panel, { width: least, autosize: { type: "fit-x", contains: "padding" } });
  };
  let drawn = 0;
  const draw = function (place) {
    vegaEmbed(place, fitting(charts.panels[place.id], place.clientWidth), options).then(
      function () {
        place.style.minHeight = "";
        drawn += 1;
        document.documentElement.setAttribute("data-drawn", String(drawn));
      },
      function (error) { place.textContent = "This chart could not be drawn: " + error.message; },
    );
  };
  const waiting = new Set(Object.keys(charts.panels).map(function (id) { return document.getElementById(id); }));
  const near = new IntersectionObserver(function (entries) {
    entries.filter(function (one) { return one.isIntersecting; }).forEach(function (one) {
      start(one.target);
    });
  }, { rootMargin: "400px" });
  const start = function (place) {
    near.unobserve(place);
    waiting.delete(place);
    draw(place);
  };
  waiting.forEach(function (place) { near.observe(place); });
  window.addEventListener("beforeprint", function () { waiting.forEach(start); });
})();
