// What moves in report.html. Every number shown was calculated and formatted before, but for what-ifs: the element
// #choices holds, for every phase, the texts of every factor at many core counts, and this script picks among them. It
// fetches nothing.
"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const phases = new Map();  // by anchor

  // Codes of equally many digits in base 36: below 1000 three decimals of 0, from 1000 on the place of a text.
  const decode = (codes, { width, texts }) => {
    const numbers = [];
    for (let at = 0; at < codes.length; at += width) numbers.push(parseInt(codes.slice(at, at + width), 36));
    const textOf = (number) => (number < 1000 ? `0.${String(number).padStart(3, "0")}` : texts[number - 1000]);
    return { numbers, texts: numbers.map(textOf) };
  };

  // Value, bounds and what was measured at every count. The value is - where it is uncertain, the bounds too where it is
  // unknown.
  const unpack = (factor, phase) => {
    const { texts } = decode(factor.values, phase);
    const measured = decode(factor.measured, phase);
    factor.at = phase.numbers.map((_, place) => {
      const [value, low, high] = texts.slice(3 * place, 3 * place + 3);
      return {
        value: value !== "-" ? value : low === "-" ? "unknown" : "uncertain",
        interval: low !== "-" ? `${low} – ${high}` : value === "-" ? "" : "unknown",
        tone: factor.tones[place],
      };
    });
    measured.numbers.forEach((place, i) => {
      if (i % 2 === 0) factor.at[place].measured = measured.texts[i + 1];
    });
  };

  let names = {};  // of factors, by id

  const load = () => {
    const choices = JSON.parse(document.getElementById("choices").textContent);
    names = choices.names;
    for (const phase of choices.phases) {
      for (const side of phase.sides) Object.values(side.factors).forEach((factor) => unpack(factor, phase));
      phases.set(phase.anchor, phase);
    }
  };

  const levelOf = (phase, place) =>
    place <= phase.lastReliable ? "reliable" : place <= phase.lastUncertain ? "uncertain" : "unknown";

  // The place of the count nearest to `cores`, as far as the eye can tell on a logarithmic axis, but on the same side of
  // the reliable range.
  const nearest = (phase, cores) => {
    const { numbers, lastReliable } = phase;
    const isWithin = cores <= numbers[lastReliable];
    const last = isWithin ? lastReliable : numbers.length - 1;
    const distance = (place) => Math.abs(Math.log(numbers[place] / cores));
    let best = isWithin ? 0 : Math.min(lastReliable + 1, last);
    for (let place = best + 1; place <= last; ++place) {
      if (distance(place) < distance(best)) best = place;
    }
    return best;
  };

  // So many counts up or down from `cores`, which need not be one of them.
  const stepFrom = (phase, cores, step) => {
    const last = phase.numbers.length - 1;
    const below = phase.numbers.findLastIndex((number) => number < cores);
    const above = phase.numbers.findIndex((number) => number > cores);
    const place = step < 0 ? below + step + 1 : (above < 0 ? last : above) + step - 1;
    return Math.max(0, Math.min(place, last));
  };

  // ---- the charts ----

  const kSvg = "http://www.w3.org/2000/svg";

  // Range and frame of a chart, from its data-plot; kept, since the pointer asks for it again and again.
  const frames = new WeakMap();
  const frameOf = (svg) => {
    if (!frames.has(svg)) {
      const [low, high, left, right, top, bottom, least, most] = svg.dataset.plot.split(" ").map(Number);
      frames.set(svg, { low, high, left, right, top, bottom, least, most });
    }
    return frames.get(svg);
  };
  const toX = (frame, cores) =>
    frame.left + (Math.log(cores / frame.low) / Math.log(frame.high / frame.low)) * (frame.right - frame.left);
  const toY = (frame, value) => {
    const share = (value - frame.least) / (frame.most - frame.least);
    return frame.bottom - Math.max(0, Math.min(share, 1)) * (frame.bottom - frame.top);
  };
  const toCores = (frame, x) =>
    frame.low * Math.exp(((x - frame.left) / (frame.right - frame.left)) * Math.log(frame.high / frame.low));

  // A vertical line in a chart; `kind` is "cursor" or "mark".
  const drawLine = (svg, kind, cores) => {
    const frame = frameOf(svg);
    let line = svg.querySelector(`.${kind}`);
    if (!line) {
      line = document.createElementNS(kSvg, "line");
      line.setAttribute("class", kind);
      line.setAttribute("y1", frame.top);
      line.setAttribute("y2", frame.bottom);
      svg.append(line);
    }
    const x = toX(frame, cores).toFixed(1);
    line.setAttribute("x1", x);
    line.setAttribute("x2", x);
  };

  // The series that are to be seen in a chart, or all, each once: [factor, side, colour].
  const seriesOf = (svg, isAll = false) => {
    const found = new Map();
    for (const element of all("polyline[data-series], polyline[data-factor]", svg)) {
      if (!isAll && element.matches(".off, .overlay:not(.shown)")) continue;
      const { factor, series = factor, side = "0" } = element.dataset;
      found.set(`${series} ${side}`, [series, Number(side), element.getAttribute("stroke")]);
    }
    return [...found.values()];
  };

  const readout = document.getElementById("readout");
  let shownIn = null;  // the chart that the readout belongs to

  const addRow = (table, cells) => {
    const row = table.insertRow();
    cells.forEach((text, i) => {
      const cell = i === 0 ? row.appendChild(document.createElement("th")) : row.insertCell();
      if (i === 0) cell.scope = "row";
      cell.textContent = text;
    });
    return row;
  };

  const swatch = (stroke) => {
    const svg = document.createElementNS(kSvg, "svg");
    svg.setAttribute("class", "chart swatch");
    svg.setAttribute("viewBox", "0 0 1 1");
    svg.setAttribute("aria-hidden", "true");
    const rect = svg.appendChild(document.createElementNS(kSvg, "rect"));
    rect.setAttribute("width", 1);
    rect.setAttribute("height", 1);
    rect.setAttribute("fill", stroke);
    return svg;
  };

  // A table in the readout, beside a place of a picture, on the side with more room; x and y in its own pixels.
  const openReadout = (svg, x, y, caption, fill) => {
    const table = document.createElement("table");
    fill(table);
    table.createCaption().textContent = caption;
    readout.replaceChildren(table);
    readout.hidden = false;
    if (shownIn !== svg) removeCursor();
    shownIn = svg;
    const box = svg.getBoundingClientRect();
    const scale = box.width / svg.viewBox.baseVal.width;
    const at = box.left + x * scale;
    const left = at > document.documentElement.clientWidth / 2 ? at - readout.offsetWidth - 14 : at + 14;
    const most = document.documentElement.clientWidth - readout.offsetWidth - 4;
    readout.style.left = `${Math.max(4, Math.min(left, most)) + window.scrollX}px`;
    readout.style.top = `${box.top + y * scale + window.scrollY}px`;
  };

  const removeCursor = () => {
    if (shownIn) for (const line of all(".cursor", shownIn)) line.remove();
  };

  const hideReadout = () => {
    readout.hidden = true;
    removeCursor();
    shownIn = null;
  };

  // Where the pointer is, in the pixels of the picture.
  const pointIn = (svg, event) => {
    const box = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / box.width;
    return { x: (event.clientX - box.left) * scale, y: (event.clientY - box.top) * scale };
  };

  // What all pictures that are read have in common: `find` the place under the pointer, or null; `move` on by a key;
  // `show` the values there. A place that only the picture itself understands; `start` is the first.
  const readBy = (plot, svg, { start, find, move, show }) => {
    let place = null;
    const title = svg.querySelector("title").textContent;
    const go = (to) => {
      place = to;
      show(to);
    };
    plot.tabIndex = 0;
    plot.setAttribute("role", "group");
    plot.setAttribute("aria-label", `${title}. Arrow keys read values.`);
    // Else the browser would show the title of the picture over the numbers.
    svg.setAttribute("aria-label", title);
    svg.addEventListener("pointermove", (event) => {
      const found = find(pointIn(svg, event), event);
      if (found === null) hideReadout();
      else go(found);
    });
    svg.addEventListener("pointerleave", hideReadout);
    plot.addEventListener("focus", () => {
      if (plot.matches(":focus-visible")) go(place ?? start());
    });
    plot.addEventListener("blur", hideReadout);
    plot.addEventListener("keydown", (event) => {
      if (event.key === "Escape") hideReadout();
      const to = move(place ?? start(), event.key);
      if (to === null) return;
      event.preventDefault();
      go(to);
    });
  };

  const moves = { ArrowLeft: -1, ArrowRight: 1, PageDown: -5, PageUp: 5, Home: -Infinity, End: Infinity };
  const within = (place, count) => Math.max(0, Math.min(place, count - 1));

  // The numbers of a chart at one place.
  const showChart = (svg, phase, place) => {
    const isMeasured = (series, side) => phase.sides[side].factors[series].at[place].measured;
    const shown = seriesOf(svg).filter(([series, side]) => phase.sides[side].factors[series]);
    const anyMeasured = shown.some(([series, side]) => isMeasured(series, side));
    const frame = frameOf(svg);
    const caption = `${phase.counts[place]} cores, ${phase.ratios[place]} the largest run`;
    openReadout(svg, toX(frame, phase.numbers[place]), 0.18 * svg.viewBox.baseVal.height, caption, (table) => {
      for (const [series, side, stroke] of shown) {
        const at = phase.sides[side].factors[series].at[place];
        const name = names[series] + (side > 0 ? `, ${phase.sides[side].name}` : "");
        const cells = [name, at.value, at.interval, phase.sides[side].factors[series].model];
        if (anyMeasured) cells.push(at.measured ? `measured ${at.measured}` : "");
        addRow(table, cells).cells[0].prepend(swatch(stroke));
      }
      for (const { series, values } of phase.perfect ?? []) {
        if (values[place] !== null) addRow(table, [`${names[series]} with what is switched off`, values[place].toFixed(2)]);
      }
    });
    drawLine(svg, "cursor", phase.numbers[place]);
  };

  const readChart = (plot, svg) => {
    const phase = phases.get(plot.dataset.phase);
    if (!phase) return;
    const placeAt = ({ x }) => nearest(phase, toCores(frameOf(svg), x));
    readBy(plot, svg, {
      start: () => phase.place,
      find: placeAt,
      move: (place, key) => (key in moves ? within(place + moves[key], phase.numbers.length) : null),
      show: (place) => showChart(svg, phase, place),
    });
    svg.addEventListener("click", (event) => choose(phase.numbers[placeAt(pointIn(svg, event))]));
  };

  // Lines over a picture that mark what is read out, from [x1, y1, x2, y2].
  const drawCursor = (svg, lines) => {
    removeCursor();
    for (const ends of lines) {
      const line = document.createElementNS(kSvg, "line");
      line.setAttribute("class", "cursor");
      ["x1", "y1", "x2", "y2"].forEach((name, i) => line.setAttribute(name, ends[i].toFixed(1)));
      svg.append(line);
    }
  };

  // Bars of iterations are read off the table behind them, which is data enough.
  const readBars = (plot, svg) => {
    const table = plot.closest("figure").nextElementSibling.querySelector("table");
    const [left, right, most, top, height, bars] = svg.dataset.bars.split(" ").map(Number);
    const heads = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
    const panels = [];  // runs, of each its rows
    for (const row of table.tBodies[0].rows) {
      const [run, number, ...texts] = [...row.cells].map((cell) => cell.textContent);
      if (panels.at(-1)?.run !== run) panels.push({ run, rows: [] });
      const [first, last = first] = number.replaceAll(",", "").split(" to ").map(Number);
      panels.at(-1).rows.push({ number, texts, first, last });
    }
    const place = (panel, row) => ({ panel, row: within(row, panels[panel].rows.length) });
    readBy(plot, svg, {
      start: () => place(0, 0),
      find: ({ x, y }) => {
        const panel = within(Math.floor((y - top) / height), panels.length);
        const number = Math.ceil(((x - left) / (right - left)) * most);
        const row = panels[panel].rows.findIndex(({ first, last }) => first <= number && number <= last);
        return row < 0 ? null : place(panel, row);
      },
      move: ({ panel, row }, key) => {
        if (key in moves) return place(panel, row + moves[key]);
        if (key !== "ArrowUp" && key !== "ArrowDown") return null;
        return place(within(panel + (key === "ArrowUp" ? -1 : 1), panels.length), row);
      },
      show: ({ panel, row }) => {
        const { number, texts, first, last } = panels[panel].rows[row];
        const x = left + (((first + last) / 2 - 0.5) / most) * (right - left);
        const y = top + height * panel;
        openReadout(svg, x, y, `${panels[panel].run}, ${heads[1].toLowerCase()} ${number}`, (readings) => {
          texts.forEach((text, i) => addRow(readings, [heads[i + 2], text]));
        });
        drawCursor(svg, [[x, y, x, y + bars]]);
      },
    });
  };

  // A timeline: what ranks do at a time, and which phases run then.
  const readTimeline = (plot, svg) => {
    const [left, right, top, bottom, columns, rows, parts] = svg.dataset.cells.split(" ").map(Number);
    const [states, ranks, times] = ["states", "ranks", "times"].map((name) => svg.dataset[name].split(";"));
    const mixAt = (column, row) => {
      const point = new DOMPoint(column + 0.5, row);
      const strokes = all("path[data-mix]", svg);
      return (strokes.find((path) => path.isPointInStroke(point)) ?? svg.querySelector("rect[data-mix]")).dataset.mix;
    };
    const timeOf = (column) => Math.floor((column * times.length) / columns);
    readBy(plot, svg, {
      start: () => ({ column: 0, row: 0 }),
      find: ({ x, y }, event) => {
        const column = Math.floor(((x - left) / (right - left)) * columns);
        const row = Math.floor(((y - top) / (bottom - top)) * rows);
        if (column !== within(column, columns) || row !== within(row, rows)) return null;
        return { column, row, mix: event.target.dataset.mix };
      },
      move: ({ column, row }, key) => {
        const step = Math.ceil(columns / times.length);
        if (key in moves) return { column: within(column + step * moves[key], columns), row };
        if (key !== "ArrowUp" && key !== "ArrowDown") return null;
        return { column, row: within(row + (key === "ArrowUp" ? -1 : 1), rows) };
      },
      show: ({ column, row, mix = mixAt(column, row) }) => {
        const x = left + ((column + 0.5) / columns) * (right - left);
        const y = top + ((row + 0.5) / rows) * (bottom - top);
        const several = ranks[row].includes(" ") ? "Ranks" : "Rank";
        openReadout(svg, x, y, `${several} ${ranks[row]}, about ${times[timeOf(column)]} after the begin`, (table) => {
          [...mix].forEach((part, i) => part > 0 && addRow(table, [states[i], `${part}/${parts} of the time`]));
          for (const band of all("[data-band]", svg)) {
            const point = new DOMPoint(x, Number(band.dataset.band));
            const isRunning = all("path", band).some((path) => path.isPointInStroke(point));
            if (isRunning) addRow(table, ["phase", band.querySelector("title").textContent]);
          }
        });
        drawCursor(svg, [[x, top, x, bottom], [left, y, right, y]]);
      },
    });
  };

  const readPlot = (plot) => {
    const svg = plot.querySelector("svg");
    if (svg?.dataset.plot) readChart(plot, svg);
    if (svg?.dataset.bars) readBars(plot, svg);
    if (svg?.dataset.cells) readTimeline(plot, svg);
  };

  // ---- the target ----

  let isReady = false;  // what the page itself does first is no choice of a reader

  const fillCell = (cell, at) => {
    const value = document.createElement("span");
    value.textContent = at ? at.value : "–";
    cell.className = `tone-${at ? at.tone : "n"}${cell.classList.contains("shown") ? " shown" : ""}`;
    cell.replaceChildren(value);
    if (!at) return;
    if (at.interval) {
      const interval = document.createElement("small");
      interval.textContent = at.interval;
      cell.append(document.createElement("br"), interval);
    }
    if (!at.measured) return;
    const measured = document.createElement("small");
    measured.textContent = `measured ${at.measured}`;
    cell.append(document.createElement("br"), measured);
  };

  // `cores` is what was asked for: where there are no numbers for it, the note says so.
  const showTarget = (phase, place, cores) => {
    phase.place = place;
    const { range, count, note, table, charts } = phase;
    if (!table) return;
    range.value = place;
    const level = levelOf(phase, place);
    const aside = level === "reliable" ? "" : `, ${level}`;
    range.setAttribute("aria-valuetext", `${phase.counts[place]} cores${aside}`);
    if (document.activeElement !== count) count.value = phase.numbers[place];
    const where = phase[level];
    const said = cores === phase.numbers[place] ? where
                                                : `Nearest count with numbers: ${phase.counts[place]}. ${where}`;
    if (note.textContent !== said) note.textContent = said;
    note.classList.toggle("outside", said !== phase.reliable);
    table.querySelector(".at-cores").textContent = phase.counts[place];
    table.querySelector(".at-ratio").textContent = phase.ratios[place];
    for (const row of table.tBodies[0].rows) {
      for (const cell of all("td", row)) {
        fillCell(cell, phase.sides[Number(cell.dataset.side ?? 0)].factors[row.dataset.factor]?.at[place]);
      }
    }
    if (isReady) for (const svg of charts) drawLine(svg, "mark", phase.numbers[place]);
  };

  // All phases go to the same target, so that they can be compared.
  const choose = (cores) => {
    if (!(cores > 0)) return;
    for (const phase of phases.values()) showTarget(phase, nearest(phase, cores), cores);
    keepState({ cores });
  };

  // ---- what-ifs ----

  // The curves of the efficiencies without the losses that are switched off: the only numbers that are calculated here,
  // of those shown, and so drawn to two digits.
  const drawPerfect = (phase) => {
    const own = `[data-phase="${phase.anchor}"]`;
    const off = all(`.perfect${own}`).filter((box) => box.checked);
    const { factors } = phase.sides[0];
    const valueAt = (id, place) => (/^\d/.test(factors[id].at[place].value) ? parseFloat(factors[id].at[place].value) : NaN);
    phase.perfect = ["parallelEfficiency", "globalEfficiency"].flatMap((series) => {
      const parts = off.filter((box) => factors[series] && box.dataset.affects.split(" ").includes(series));
      if (parts.length === 0) return [];
      const values = phase.numbers.map((_, place) => {
        const value = parts.reduce((whole, box) => whole / valueAt(box.value, place), valueAt(series, place));
        return Number.isFinite(value) ? value : null;
      });
      return [{ series, values }];
    });
    for (const svg of phase.charts) {
      for (const line of all(".what-if", svg)) line.remove();
      const frame = frameOf(svg);
      for (const { series, values } of phase.perfect) {
        const curve = svg.querySelector(`polyline[data-factor="${series}"], polyline[data-series="${series}"]`);
        if (!curve) continue;
        const points = values.map((value, place) => value !== null &&
          `${toX(frame, phase.numbers[place]).toFixed(1)},${toY(frame, value).toFixed(1)}`).filter(Boolean).join(" ");
        addShape(svg, "polyline", { class: "what-if", points, fill: "none", stroke: curve.getAttribute("stroke"),
                                    "stroke-width": 2.4, "stroke-dasharray": "2 4" });
      }
    }
  };

  const connectPerfect = () => {
    for (const box of all("input.perfect")) {
      const phase = phases.get(box.dataset.phase);
      if (!phase?.sides[0].factors[box.value]) {
        box.parentElement.remove();
        continue;
      }
      box.addEventListener("change", () => {
        drawPerfect(phase);
        keepState({ perfect: all("input.perfect:checked").map((one) => `${one.dataset.phase}:${one.value}`).join(",") });
      });
    }
  };

  // ---- links: #SECTION&cores=216&perfect=PHASE:FACTOR&without=PHASE,FACTOR ----

  const stateOf = () => {
    const [id, ...parts] = window.location.hash.slice(1).split("&").map(decodeURIComponent);
    const isState = id.includes("=");
    return { id: isState ? "" : id, parts: new Map((isState ? [id, ...parts] : parts).map((part) => part.split("="))) };
  };

  const keepState = (changes) => {
    if (!isReady) return;
    const { id, parts } = stateOf();
    for (const [key, value] of Object.entries(changes)) value ? parts.set(key, String(value)) : parts.delete(key);
    const texts = [...(id ? [id] : []), ...[...parts].map((part) => part.join("="))].map((text) => encodeURI(text));
    window.history.replaceState(null, "", `#${texts.join("&")}`);
  };

  // Opens what is folded around the section, and chooses what the link says.
  const followLink = () => {
    const { id, parts } = stateOf();
    const section = document.getElementById(id);
    for (let element = section; element; element = element.parentElement) {
      if (element.localName === "details") element.open = true;
    }
    const body = section?.querySelector(":scope > .fold");
    if (body) body.open = true;
    if (section) section.scrollIntoView();
    if (parts.has("cores")) choose(Number(parts.get("cores")));
    for (const one of parts.get("without")?.split(",") ?? []) {
      const box = chooseBoxes().find((other) => other.value === one);
      if (box?.checked) box.click();
    }
    for (const one of parts.get("perfect")?.split(",") ?? []) {
      const [anchor, factor] = one.split(":");
      const box = all("input.perfect").find((other) => other.dataset.phase === anchor && other.value === factor);
      if (box && !box.checked) box.click();
    }
  };

  // ---- tables as CSV ----

  const csvOf = (table) => {
    const textOf = (cell) => {
      const copy = cell.cloneNode(true);
      for (const br of all("br", copy)) br.replaceWith(" ");
      const text = copy.textContent.trim().replace(/\s+/g, " ");
      return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    return [...table.rows].map((row) => [...row.cells].map(textOf).join(",") + "\n").join("");
  };

  const addCopyButtons = () => {
    for (const table of all("main .scroll > table")) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "controls copy";
      button.textContent = "Copy as CSV";
      button.addEventListener("click", () => {
        navigator.clipboard.writeText(csvOf(table)).then(
          () => (button.textContent = "Copied"), () => (button.textContent = "Copying is not allowed here"));
        setTimeout(() => (button.textContent = "Copy as CSV"), 2000);
      });
      table.parentElement.append(button);
    }
  };

  const steps = { ArrowDown: -1, ArrowUp: 1, PageDown: -5, PageUp: 5 };

  const connectCount = (phase) => {
    const { count } = phase;
    count.addEventListener("input", () => choose(Number(count.value)));
    count.addEventListener("change", () => (count.value = phase.numbers[phase.place]));
    count.addEventListener("keydown", (event) => {
      if (!(event.key in steps)) return;
      event.preventDefault();
      const from = Number(count.value) || phase.numbers[phase.place];
      choose(phase.numbers[stepFrom(phase, from, steps[event.key])]);
      count.value = phase.numbers[phase.place];
    });
  };

  const connectTargets = () => {
    for (const phase of phases.values()) {
      const own = `[data-phase="${phase.anchor}"]`;
      phase.range = document.querySelector(`.target${own}`);
      phase.count = document.querySelector(`.count${own}`);
      phase.note = document.querySelector(`.note${own}`);
      phase.table = document.querySelector(`.readings${own}`);
      phase.charts = all(`.plot${own} svg[data-plot]`);
      if (!phase.range || !phase.count || !phase.note || !phase.table) {
        phase.table = null;
        continue;
      }
      phase.range.addEventListener("input", () => choose(phase.numbers[Number(phase.range.value)]));
      connectCount(phase);
      showTarget(phase, phase.place, phase.numbers[phase.place]);
    }
  };

  // ---- what is shown ----

  const addShape = (svg, kind, attributes) => {
    const shape = document.createElementNS(kSvg, kind);
    for (const [name, value] of Object.entries(attributes)) shape.setAttribute(name, value);
    svg.append(shape);
    return shape;
  };

  const dashes = ["1.5 3", "7 3 1.5 3", "3 5"];  // of other machines

  // The curves of another machine over those of the chart, as far as they are reliable, and what was measured there.
  const layOver = (svg, phase, side) => {
    const frame = frameOf(svg);
    const dash = dashes[(side - 1) % dashes.length];
    svg.querySelector(`g.overlay[data-side="${side}"] line`).setAttribute("stroke-dasharray", dash);
    for (const [series, from, stroke] of seriesOf(svg, true)) {
      const factor = phase.sides[side].factors[series];
      if (from > 0 || !factor) continue;
      const isOff = svg.querySelector(`[data-factor="${series}"]`).matches(".off");
      const curve = [];
      const dots = [];
      factor.at.forEach(({ value, measured }, place) => {
        const x = toX(frame, phase.numbers[place]).toFixed(1);
        if (value !== "uncertain" && value !== "unknown") curve.push(`${x},${toY(frame, parseFloat(value) || 0).toFixed(1)}`);
        for (const run of measured?.split(", ") ?? []) dots.push(`M${x} ${toY(frame, parseFloat(run) || 0).toFixed(1)}h0`);
      });
      const common = { class: `overlay${isOff ? " off" : ""}`, "data-factor": series, "data-side": side, fill: "none", stroke };
      addShape(svg, "polyline", { ...common, points: curve.join(" "), "stroke-width": 1.8, "stroke-dasharray": dash });
      addShape(svg, "path", { ...common, d: dots.join(""), "stroke-width": 5, "stroke-linecap": "round" });
    }
  };

  const connectSides = () => {
    for (const box of all("input.side")) {
      const section = box.closest("section");
      const phase = phases.get(box.dataset.phase);
      const charts = all(".overview svg[data-plot]", section);
      box.addEventListener("change", () => {
        for (const svg of charts) {
          if (!svg.querySelector(`polyline.overlay[data-side="${box.value}"]`)) layOver(svg, phase, Number(box.value));
        }
        const parts = `.readings [data-side="${box.value}"], .overlay[data-side="${box.value}"]`;
        for (const part of all(parts, section)) part.classList.toggle("shown", box.checked);
      });
    }
  };

  const connectChoices = () => {
    for (const box of all(".choose-phase")) {
      box.addEventListener("change", () => {
        const parts = `[data-phase-link="${box.value}"], [data-row="${box.value}"]`;
        for (const part of [document.getElementById(box.value), ...all(parts)]) part.hidden = !box.checked;
        keepChoices();
      });
    }
    for (const box of all(".choose-factor")) {
      box.addEventListener("change", () => {
        for (const part of all(`[data-factor="${box.value}"]`).flatMap(withColumn)) {
          part.classList.toggle("off", !box.checked);
        }
        keepChoices();
      });
    }
  };

  const chooseBoxes = () => all(".choose-phase, .choose-factor");
  const keepChoices = () =>
    keepState({ without: chooseBoxes().filter((box) => !box.checked).map((box) => box.value).join(",") });

  // A factor that is the heading of a column takes the column with it.
  const withColumn = (part) => {
    if (part.scope !== "col") return [part];
    return [...part.closest("table").rows].map((row) => row.cells[part.cellIndex]);
  };

  const connectTheme = () => {
    const button = document.getElementById("theme");
    const root = document.documentElement;
    const show = (isDark) => {
      root.dataset.theme = isDark ? "dark" : "light";
      button.setAttribute("aria-pressed", String(isDark));
    };
    const preference = window.matchMedia("(prefers-color-scheme: dark)");
    show(preference.matches);
    preference.addEventListener("change", () => show(preference.matches));
    button.addEventListener("click", () => show(root.dataset.theme !== "dark"));
  };

  // What a factor means, from the glossary, for who points at its name.
  const addMeanings = () => {
    for (const entry of all("[data-meaning]")) {
      const text = entry.querySelector("dd").textContent.trim();
      for (const name of all(`tr[data-factor="${entry.dataset.meaning}"] > th`)) name.title = text;
    }
  };

  // The link to the section that is being read.
  const followReader = () => {
    const links = new Map(all(".contents a").map((link) => [link.hash.slice(1), link]));
    let current = null;
    const observer = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting || !links.has(entry.target.id)) continue;
        current?.removeAttribute("aria-current");
        current = links.get(entry.target.id);
        current.setAttribute("aria-current", "true");
      }
    }, { rootMargin: "0px 0px -75% 0px" });
    for (const id of links.keys()) {
      const target = document.getElementById(id);
      if (target) observer.observe(target);
    }
    if (window.matchMedia("(max-width: 70rem)").matches) {
      for (const details of all(".contents > details")) details.open = false;
    }
  };

  document.documentElement.classList.add("js");
  load();
  connectTheme();
  connectTargets();
  connectSides();
  connectPerfect();
  connectChoices();
  addCopyButtons();
  addMeanings();
  all(".plot").forEach(readPlot);
  followReader();
  isReady = true;
  followLink();
  window.addEventListener("hashchange", followLink);
})();
