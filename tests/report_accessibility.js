// What is wrong with a page for people who cannot see it well, or at all: a list of sentences.
const problems = [];
const name = (element) => {
  const id = element.id ? `#${element.id}` : "";
  return `${element.localName}${id}.${[...element.classList].join(".")} "${element.textContent.trim().slice(0, 30)}"`;
};
const all = (selector) => [...document.querySelectorAll(selector)];
const textOf = (id) => document.getElementById(id)?.textContent.trim();

if (!document.documentElement.lang) problems.push("no language");
if (!document.title) problems.push("no title");
if (all("main").length !== 1 || all("header, nav, main, footer").length !== 4) problems.push("landmarks");
for (const nav of all("nav, section")) {
  if (!nav.getAttribute("aria-label") && !textOf(nav.getAttribute("aria-labelledby"))) problems.push(`no name: ${name(nav)}`);
}

const ids = new Set();
for (const element of all("[id]")) {
  if (ids.has(element.id)) problems.push(`the id ${element.id} occurs twice`);
  ids.add(element.id);
}
for (const link of all("a[href^='#']")) {
  if (!ids.has(decodeURIComponent(link.hash.slice(1)))) problems.push(`goes nowhere: ${name(link)}`);
}

for (const picture of all("img, svg")) {
  if (picture.closest("[aria-hidden=true]")) continue;
  const described = picture.localName === "svg" ? picture.querySelector("title")?.textContent && picture.querySelector("desc")?.textContent
                                                : picture.alt;
  if (!described) problems.push(`not described: ${name(picture)}`);
  const figure = picture.closest("figure, article");
  const beside = figure?.querySelector("table") || figure?.nextElementSibling?.querySelector("table") ||
                 figure?.nextElementSibling?.matches("table");
  if (figure && !beside) problems.push(`no table behind: ${picture.querySelector("title").textContent}`);
}

for (const control of all("input, select, button, summary")) {
  const label = control.labels?.length ? control.labels[0].textContent.trim() : control.textContent.trim();
  if (!label && !control.getAttribute("aria-label")) problems.push(`no label: ${name(control)}`);
}
for (const group of all("[role=group], fieldset")) {
  if (!group.getAttribute("aria-label") && !group.querySelector("legend")) problems.push(`no label: ${name(group)}`);
}

let level = 0;
for (const heading of all("h1, h2, h3, h4, h5, h6")) {
  const here = Number(heading.localName[1]);
  if (here > level + 1) problems.push(`a heading is left out before ${name(heading)}`);
  if (!heading.textContent.trim()) problems.push("an empty heading");
  level = here;
}
if (all("h1").length !== 1) problems.push("not one h1");

for (const table of all("main table")) {
  if (!table.caption?.textContent.trim()) problems.push(`no caption: ${name(table)}`);
  for (const cell of table.querySelectorAll("th")) if (!cell.scope) problems.push(`no scope: ${name(cell)}`);
  for (const row of table.tBodies[0]?.rows ?? []) {
    if (row.cells[0]?.localName !== "th") problems.push(`a row without heading: ${name(row)}`);
  }
}

// Contrast of text against what is behind it [WCAG 2.1, 1.4.3].
const parse = (color) => {
  const [r, g, b, a = 1] = color.match(/[\d.]+/g).map(Number);
  return { r, g, b, a };
};
const over = (top, below) => ({
  r: top.r * top.a + below.r * (1 - top.a), g: top.g * top.a + below.g * (1 - top.a),
  b: top.b * top.a + below.b * (1 - top.a), a: 1,
});
const luminance = ({ r, g, b }) => {
  const [x, y, z] = [r, g, b].map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
};
const groundOf = (element) => {
  if (!element) return parse("rgb(255, 255, 255)");
  const own = parse(getComputedStyle(element).backgroundColor);
  return own.a === 1 ? own : over(own, groundOf(element.parentElement));
};
const seen = new Set();
for (const element of all("body *")) {
  const texts = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  if (!texts || !element.checkVisibility() || element.closest("script, .unseen, .skip, title, desc")) continue;
  const isSvg = element.namespaceURI.endsWith("svg");
  if (isSvg && element.closest("g") && !element.closest("svg.chart")) continue;  // within the bands of timelines
  const style = getComputedStyle(element);
  const ground = groundOf(element);
  const ink = over(parse(isSvg ? style.fill : style.color), ground);
  const [light, dark] = [luminance(ink), luminance(ground)].sort((a, b) => b - a);
  const contrast = (light + 0.05) / (dark + 0.05);
  const what = `${contrast.toFixed(2)} of ${style.color} on ${JSON.stringify(ground)}`;
  if (contrast < 4.5 && !seen.has(what)) problems.push(`contrast ${what}: ${name(element)}`);
  seen.add(what);
}
return problems;
