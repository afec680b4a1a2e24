// SPDX-License-Identifier: MIT
// The page of `memtracer report`: data → chart, cursor, table at the cursor, map of the address
// space. All text of the recording goes to the page by textContent or onto the canvas.
"use strict";
(() => {
    const data = JSON.parse(document.getElementById("data").textContent);
    const steps = [...data.steps, ...data.judged.filter((j) => !data.steps.some((s) => s.type === j.type))]
        .sort((a, b) => a.t_ns - b.t_ns);
    const run = data.run[0];
    if (!run || !data.moments.length) return;
    const byId = (id) => document.getElementById(id);
    const COLORS = {
        image: "#4e79a7", mapped_file: "#76b7b2", shareable: "#59a14f", heap: "#e15759",
        managed_heap: "#f28e2b", stack: "#d4a72c", private: "#b07aa1", device: "#9c755f",
        page_table: "#8c8c8c", unusable: "#bab0ac", free: "#c8ccd0", tracer: "#2a9d8f",
    };
    const MORE = ["#6f63bb", "#8ca252", "#bd9e39", "#ad494a", "#17a2c4", "#ff9896"];
    const colorOf = (type) => COLORS[type] || MORE[Math.max(0, data.types.indexOf(type)) % MORE.length];
    const NARROW = 3; // pixels between two lines that are both drawn

    // ---- moments: running sums → for each type the moments at which it changed ----
    const n = data.moments.length, nTypes = data.types.length, nColumns = data.columns.length;
    const sample = new Float64Array(n), time = new Float64Array(n + 1);
    const levels = data.types.map(() => ({ at: [], rows: [] }));
    (() => {
        const now = data.types.map(() => new Array(nColumns).fill(null));
        let id = 0, t = 0;
        data.moments.forEach((moment, i) => {
            id += moment[0];
            t += moment[1];
            sample[i] = id;
            time[i] = t / 1e9;
            for (let m = 2; m < moment.length; m++) {
                const [k, ...changes] = moment[m];
                changes.forEach((d, c) => { now[k][c] = d === null ? null : (now[k][c] || 0) + d; });
                levels[k].at.push(i);
                levels[k].rows.push(now[k].slice());
            }
        });
        time[n] = Math.max(run.end_ns / 1e9, time[n - 1] + 1e-3);
        data.moments = null;
    })();

    const find = (sorted, value) => { // index of the last one <= value, -1 = none
        let low = 0, high = sorted.length;
        while (low < high) {
            const middle = (low + high) >> 1;
            if (sorted[middle] <= value) low = middle + 1; else high = middle;
        }
        return low - 1;
    };
    const rowAt = (k, i) => {
        const place = find(levels[k].at, i);
        return place < 0 ? null : levels[k].rows[place];
    };
    const expand = (k, column) => { // one value a moment, and one more for the end
        const out = new Float64Array(n + 1);
        let place = 0, value = 0;
        for (let i = 0; i <= n; i++) {
            for (; place < levels[k].at.length && levels[k].at[place] <= i; place++)
                value = levels[k].rows[place][column] || 0;
            out[i] = value;
        }
        return out;
    };

    // ---- words ----
    const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];
    const human = (bytes) => {
        let unit = 0, x = Math.abs(bytes);
        while (x >= 1024 && unit < 4) { x /= 1024; unit++; }
        const text = unit === 0 ? String(x) : x.toPrecision(x >= 1000 ? 4 : 3);
        return (bytes < 0 ? "-" : "") + (x === 0 ? "0" : text + " " + UNITS[unit]);
    };
    const seconds = (s) => s < 120 ? s.toFixed(s < 10 ? 2 : 1) + " s"
        : s < 7200 ? Math.floor(s / 60) + " min " + Math.floor(s % 60) + " s"
        : s < 172800 ? Math.floor(s / 3600) + " h " + Math.floor(s % 3600 / 60) + " min"
        : Math.floor(s / 86400) + " d " + Math.floor(s % 86400 / 3600) + " h " + Math.floor(s % 3600 / 60) + " min";
    const STEPS_OF_TIME = [1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120,
        300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000, 7776000];
    const clock = (s) => { // 12.5 s, 3:20, 1:03:20, 2 d, 2 d 4:00:00
        if (s >= 86400 && s % 86400 === 0) return s / 86400 + " d";
        if (s < 60) return Number(s.toFixed(4)) + " s";
        const two = (x) => String(Math.floor(x)).padStart(2, "0");
        const days = Math.floor(s / 86400), hours = Math.floor(s % 86400 / 3600);
        return (days ? days + " d " : "") + (days || hours ? hours + ":" + two(s % 3600 / 60) : Math.floor(s / 60)) + ":" + two(s % 60);
    };
    const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

    // ---- chart ----
    let column = "ws", stacked = true, plot = null, cursorAt = n;
    const seen = { min: time[0], max: time[n] }; // the part one looks at, for the next plot
    const keepRange = (u, key) => {
        if (key !== "x" || u !== plot || !(u.scales.x.max > u.scales.x.min)) return;
        seen.min = u.scales.x.min;
        seen.max = u.scales.x.max;
    };
    const shown = () => data.types.map((type, k) => k).filter((k) => data.types[k] !== "free");
    const series = () => {
        const values = shown().map((k) => expand(k, data.columns.indexOf(column)));
        const used = shown().map((k, i) => ({ k, v: values[i] })).filter((s) => s.v.some((x) => x > 0));
        if (!stacked) return used.map((s) => ({ k: s.k, v: s.v, fill: false }));
        const sum = new Float64Array(n + 1);
        return used.map((s) => {
            for (let i = 0; i <= n; i++) sum[i] += s.v[i];
            return { k: s.k, v: sum.slice(), fill: true };
        }).reverse(); // the highest first: each next one is painted over it
    };
    // Beside x, to the right of it or else to the left, where it touches neither what was written
    // up to `from` nor what begins at `to`. Returns where it ends; `from` when there was no room.
    const write = (c, text, x, y, gap, from, to) => {
        const width = c.measureText(text).width;
        if (x >= from && x + gap + width <= to) {
            c.fillText(text, x + gap, y);
            return x + 2 * gap + width;
        }
        if (x - gap - width < from) return from;
        c.fillText(text, x - gap - width, y);
        return x;
    };
    const drawLines = (u) => {
        const c = u.ctx, box = u.bbox, ratio = devicePixelRatio || 1, right = box.left + box.width;
        c.save();
        c.beginPath();
        c.rect(box.left, 0, box.width, box.top + box.height);
        c.clip();
        c.textAlign = "left";
        c.textBaseline = "alphabetic";
        c.font = Math.round(11 * ratio) + "px system-ui, sans-serif";
        let last = -Infinity, lastText = box.left;
        for (const mark of data.marks) {
            const x = Math.round(u.valToPos(mark.t_ns / 1e9, "x", true));
            if (x < box.left || x > right || x - last < NARROW * ratio) continue;
            last = x;
            c.strokeStyle = c.fillStyle = css("--mark");
            c.setLineDash([3 * ratio, 3 * ratio]);
            c.beginPath();
            c.moveTo(x, box.top);
            c.lineTo(x, box.top + box.height);
            c.stroke();
            const text = [...mark.label].slice(0, 24).join("").replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
            lastText = write(c, text, x, box.top + 12 * ratio, 3 * ratio, lastText, right);
        }
        c.setLineDash([]);
        lastText = box.left;
        const places = steps.map((step) => Math.round(u.valToPos(step.t_ns / 1e9, "x", true)));
        steps.forEach((step, i) => {
            const x = places[i];
            if (x < box.left || x > right) return;
            c.fillStyle = colorOf(step.type);
            c.strokeStyle = css("--text");
            c.beginPath();
            c.moveTo(x, box.top - 2 * ratio);
            c.lineTo(x - 5 * ratio, box.top - 11 * ratio);
            c.lineTo(x + 5 * ratio, box.top - 11 * ratio);
            c.closePath();
            c.fill();
            c.stroke();
            c.fillStyle = css("--text");
            const next = i + 1 < places.length ? places[i + 1] - 7 * ratio : right;
            lastText = Math.max(x + 5 * ratio, write(c, step.type + " +" + human(step.bytes), x,
                box.top - 3 * ratio, 8 * ratio, lastText, Math.min(next, right)));
        });
        const x = u.valToPos(time[cursorAt], "x", true); // the moment of the table
        c.strokeStyle = css("--text");
        c.beginPath();
        c.moveTo(x, box.top);
        c.lineTo(x, box.top + box.height);
        c.stroke();
        c.restore();
    };
    const build = () => {
        const list = series(), host = byId("chart");
        if (plot) plot.destroy();
        const axis = { stroke: css("--soft"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line") } };
        plot = new uPlot({
            width: Math.max(320, host.clientWidth), height: 400, padding: [24, 32, 0, 0],
            legend: { show: false },
            cursor: { y: false, points: { show: false }, drag: { x: true, y: false } },
            scales: { x: { time: false }, y: { range: (u, low, high) => [0, (high || 1) * 1.05] } },
            axes: [
                { ...axis, label: "time since the start", labelSize: 22, size: 36, incrs: STEPS_OF_TIME, values: (u, ticks) => ticks.map(clock) },
                { ...axis, size: 84, incrs: Array.from({ length: 50 }, (v, i) => 2 ** i), values: (u, ticks) => ticks.map(human) },
            ],
            series: [{}].concat(list.map((s) => ({
                label: data.types[s.k], stroke: colorOf(data.types[s.k]), width: s.fill ? 0.5 : 2,
                fill: s.fill ? colorOf(data.types[s.k]) : undefined, points: { show: false },
                paths: uPlot.paths.stepped({ align: 1 }),
            }))),
            hooks: { draw: [drawLines], setCursor: [moved], setScale: [keepRange] },
        }, [time].concat(list.map((s) => s.v)), host);
        plot.setScale("x", seen);
        showKey(list.map((s) => data.types[s.k]));
        window.memtracer = { plot, sample, time, moment: () => cursorAt };
    };
    let waiting = false;
    const moved = (u) => {
        if (u.cursor.left < 0 || u.cursor.idx === null || u.cursor.idx === undefined) return;
        place(find(time, u.posToVal(u.cursor.left, "x")));
    };
    const place = (i) => {
        cursorAt = Math.max(0, Math.min(n, i));
        if (waiting) return;
        waiting = true;
        requestAnimationFrame(() => {
            waiting = false;
            showTable();
            showMap();
            plot.redraw(false, false);
        });
    };

    // ---- the table at the cursor's moment ----
    const rows = new Map();
    const swatch = (type) => {
        const box = document.createElementNS("http://www.w3.org/2000/svg", "svg");
        const fill = document.createElementNS("http://www.w3.org/2000/svg", "rect");
        box.setAttribute("class", "swatch");
        box.setAttribute("viewBox", "0 0 1 1");
        box.setAttribute("aria-hidden", "true");
        fill.setAttribute("width", "1");
        fill.setAttribute("height", "1");
        fill.setAttribute("fill", colorOf(type));
        box.append(fill);
        return box;
    };
    const COUNTS = "blocks";
    const showKey = (types) => byId("key").replaceChildren(...types.map((type) => {
        const item = document.createElement("span");
        item.append(swatch(type), type);
        return item;
    }));
    for (const row of byId("vmmap").tBodies[0].rows) {
        const type = row.cells[0].textContent;
        rows.set(type, row);
        if (type === "total") row.classList.add("total");
        else row.cells[0].prepend(swatch(type));
    }
    const setCell = (cell, name, value) => {
        cell.dataset.value = value === null ? "" : String(value);
        cell.title = cell.dataset.value;
        cell.textContent = value === null ? "–" : name === COUNTS ? String(value) : human(value);
    };
    const totalOf = (at, c, name) => at.reduce((sum, row, k) => {
        const value = row && data.types[k] !== "free" ? row[c] : null;
        if (value === null) return sum;
        return name === "largest" ? Math.max(sum || 0, value) : (sum || 0) + value;
    }, null);
    const showTable = () => {
        const i = Math.min(cursorAt, n - 1), at = levels.map((x, k) => rowAt(k, i));
        data.columns.forEach((name, c) => {
            data.types.forEach((type, k) => {
                if (rows.has(type)) setCell(rows.get(type).cells[c + 1], name, at[k] ? at[k][c] : null);
            });
            if (rows.has("total")) setCell(rows.get("total").cells[c + 1], name, totalOf(at, c, name));
        });
        const c = data.columns.indexOf(column), total = totalOf(at, c, column);
        const when = new Date(run.start_ms + time[cursorAt] * 1e3).toISOString().replace("T", " ").replace("Z", " UTC");
        const said = "At " + seconds(time[cursorAt]) + " (" + when + ", sample " + sample[i] + "): " +
            (total === null ? "unknown" : human(total)) + " " + column + " in all";
        byId("vmmap").dataset.sample = String(sample[i]);
        byId("vmmap").caption.textContent = "Types of memory by states. " + said;
        byId("moment").textContent = said;
    };

    // ---- the address space at that moment: a row for each group of neighbours ----
    const FAR = 2 ** 30;
    const showMap = () => {
        const now = sample[Math.min(cursorAt, n - 1)], host = byId("map");
        const alive = data.regions.filter((r) => r.first_sample <= now && (r.last_sample === null || r.last_sample >= now))
            .map((r) => ({ r, base: parseInt(r.base_address, 16), bytes: r.bytes })).sort((a, b) => a.base - b.base);
        const groups = [];
        for (const region of alive) {
            const group = groups[groups.length - 1];
            if (group && region.base - group.end < FAR) {
                group.regions.push(region);
                group.end = Math.max(group.end, region.base + region.bytes);
            } else groups.push({ base: region.base, end: region.base + region.bytes, regions: [region] });
        }
        host.replaceChildren(...groups.slice(0, 40).flatMap((g) => drawGroup(g)));
        byId("map-said").textContent = alive.length
            ? alive.length + " regions in " + groups.length + " groups; colours as in the table, space between them is free"
            : "the list of regions was not recorded";
    };
    const drawGroup = (g) => {
        const label = document.createElement("div");
        const bar = document.createElementNS("http://www.w3.org/2000/svg", "svg");
        const span = g.end - g.base;
        label.className = "place";
        label.textContent = "0x" + g.base.toString(16).padStart(12, "0") + ", " + human(span) + ", " +
            g.regions.length + " region" + (g.regions.length === 1 ? "" : "s");
        bar.setAttribute("class", "row");
        bar.setAttribute("viewBox", "0 0 1000 20");
        bar.setAttribute("preserveAspectRatio", "none");
        for (const { r, base, bytes } of g.regions) {
            const box = document.createElementNS("http://www.w3.org/2000/svg", "rect");
            const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
            box.setAttribute("x", ((base - g.base) / span * 1000).toFixed(3));
            box.setAttribute("width", Math.max(0.7, bytes / span * 1000).toFixed(3));
            box.setAttribute("height", "20");
            box.setAttribute("fill", colorOf(r.type));
            title.textContent = r.base_address + " " + human(bytes) + " " + r.type + " " + r.protection +
                " " + (r.file_name || r.owner || "");
            box.append(title);
            bar.append(box);
        }
        return [label, bar];
    };

    // ---- hands ----
    const zoom = (factor) => {
        const { min, max } = plot.scales.x, middle = time[cursorAt];
        const half = Math.min((max - min) * factor, time[n] - time[0]) / 2;
        const from = Math.max(time[0], Math.min(middle - half, time[n] - 2 * half));
        plot.setScale("x", { min: from, max: from + 2 * half });
    };
    const whole = () => plot.setScale("x", { min: time[0], max: time[n] });
    const KEYS = {
        ArrowLeft: (e) => place(cursorAt - (e.shiftKey ? Math.ceil(n / 10) : 1)),
        ArrowRight: (e) => place(cursorAt + (e.shiftKey ? Math.ceil(n / 10) : 1)),
        Home: () => place(0), End: () => place(n),
        "+": () => zoom(0.5), "-": () => zoom(2), 0: whole,
    };
    byId("chart").addEventListener("keydown", (e) => {
        if (!KEYS[e.key] || e.ctrlKey || e.altKey || e.metaKey) return;
        e.preventDefault();
        KEYS[e.key](e);
    });
    byId("reset").addEventListener("click", whole);
    byId("end").addEventListener("click", () => place(n));
    byId("column").addEventListener("change", (e) => { column = e.target.value; build(); showTable(); });
    for (const radio of document.querySelectorAll("input[name=shape]"))
        radio.addEventListener("change", (e) => { stacked = e.target.value === "stacked"; build(); });
    const width = () => plot.setSize({ width: Math.max(320, byId("chart").clientWidth), height: 400 });
    window.addEventListener("resize", width);
    for (const query of ["(prefers-color-scheme: dark)", "print"])
        window.matchMedia(query).addEventListener("change", build);
    let opened = []; // on paper nothing is folded
    window.addEventListener("beforeprint", () => {
        opened = [...document.querySelectorAll("details:not([open])")];
        opened.forEach((d) => { d.open = true; });
    });
    window.addEventListener("afterprint", () => opened.forEach((d) => { d.open = false; }));

    if (!shown().some((k) => expand(k, data.columns.indexOf("ws")).some((x) => x > 0))) column = "committed";
    byId("column").value = column;
    byId("view").hidden = false;
    build();
    showTable();
    showMap();
})();
