// SPDX-License-Identifier: MIT
// What a person does with the page, in Chromium: browser.js PLAN.json
"use strict";
const fs = require("fs");
const { chromium } = require("playwright-core");

const plan = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
let failed = 0;
const check = (fact, text) => {
    if (fact) return;
    failed++;
    console.log("FAILED: " + text);
};

const table = (page) => page.evaluate(() => {
    const t = document.getElementById("vmmap"), rows = {};
    for (const row of t.tBodies[0].rows)
        rows[row.cells[0].textContent] = [...row.cells].slice(1).map((c) => c.dataset.value);
    return { sample: t.dataset.sample, rows };
});

// The table as the page shows it is what SQL says of that sample.
const compare = async (page, p, where) => {
    const got = await table(page), want = p.truth[got.sample];
    if (!want) return false;
    for (const [type, columns] of Object.entries(want))
        check(JSON.stringify(got.rows[type]) === JSON.stringify(columns),
            `${p.name}, ${where}: ${type} at sample ${got.sample}: ${got.rows[type]} for ${columns}`);
    return true;
};

const frame = (page) => page.evaluate(() => new Promise((done) =>
    requestAnimationFrame(() => requestAnimationFrame(done))));

const walkWithKeys = async (page, p) => {
    let compared = 0;
    await page.focus("#chart");
    await page.keyboard.press("Home");
    await frame(page);
    for (let i = 0; i < 12; i++) {
        compared += await compare(page, p, "by keys");
        await page.keyboard.press("ArrowRight");
        await frame(page);
    }
    await page.keyboard.press("End");
    await frame(page);
    check(await compare(page, p, "at the end"), p.name + ": the end is the last sample");
    check(compared > 0, p.name + ": some samples compared");
};

const zoom = async (page, p) => {
    const range = () => page.evaluate(() => [memtracer.plot.scales.x.min, memtracer.plot.scales.x.max]);
    const before = await range(), box = await page.locator("#chart .u-over").boundingBox();
    await page.mouse.move(box.x + box.width * 0.3, box.y + 100);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 100, { steps: 5 });
    await page.mouse.up();
    const after = await range(), share = (after[1] - after[0]) / (before[1] - before[0]);
    check(Math.abs(share - 0.3) < 0.03, p.name + ": dragged over 0.3 of the chart, sees " + share);
    await page.click("#reset");
    check(JSON.stringify(await range()) === JSON.stringify(before), p.name + ": the whole run again");
};

const mouse = async (page, p) => {
    await page.locator("#chart").scrollIntoViewIfNeeded();
    const box = await page.locator("#chart .u-over").boundingBox();
    let compared = 0;
    for (const share of [0.05, 0.2, 0.35, 0.5, 0.55, 0.7, 0.99]) {
        await page.mouse.move(box.x + box.width * share, box.y + 80);
        await frame(page);
        const at = await page.evaluate(() => [memtracer.time[memtracer.moment()],
            memtracer.time[memtracer.moment() + 1] || Infinity, memtracer.plot.posToVal(
                memtracer.plot.cursor.left, "x")]);
        check(at[0] <= at[2] && at[2] < at[1], `${p.name}: moment ${at} holds at the cursor`);
        compared += await compare(page, p, "by mouse");
    }
    check(compared > 0 || p.name === "long", p.name + ": some places compared");
};

const looks = async (page, p) => {
    const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await page.emulateMedia({ colorScheme: "dark" });
    check(await back() === "rgb(13, 17, 23)", p.name + ": dark");
    await frame(page);
    await page.screenshot({ path: `${plan.pictures}/${p.name}-dark.png`, fullPage: true });
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    check(await back() === "rgb(255, 255, 255)", p.name + ": paper is white");
    check(!await page.isVisible(".controls"), p.name + ": no controls on paper");
    await page.setViewportSize({ width: 1032, height: 700 }); // A4 lying, less its margins
    check(await page.$$eval("#vmmap, #steps, #marks, #grew, #cost", (l) => l.every((t) =>
        t.getBoundingClientRect().right <= 1032)), p.name + ": every column is on the paper");
    const paper = await page.pdf({ preferCSSPageSize: true });
    await page.setViewportSize({ width: 1280, height: 900 });
    check(paper.length > 10000, p.name + ": a PDF of " + paper.length);
    fs.writeFileSync(`${plan.pictures}/${p.name}.pdf`, paper);
    await page.emulateMedia({ media: "screen", colorScheme: "light" });
    await frame(page);
    await page.screenshot({ path: `${plan.pictures}/${p.name}.png`, fullPage: true });
    await page.check("input[value=lines]");
    await page.selectOption("#column", "committed");
    await frame(page);
    await page.screenshot({ path: `${plan.pictures}/${p.name}-lines.png` });
    check((await page.textContent("#moment")).includes("committed"), p.name + ": column chosen");
    await page.check("input[value=stacked]");
    await page.selectOption("#column", "ws");
};

const facts = async (page, p) => {
    const steps = await page.$$eval("#steps tbody tr", (rows) => rows.map((r) => r.cells[1] &&
        [r.cells[0].textContent, Number(r.cells[3].dataset.value)]));
    if (p.steps.length)
        check(JSON.stringify(steps) === JSON.stringify(p.steps), p.name + ": steps " + steps);
    // The kept moments hold the highest value there was.
    const peak = await page.evaluate(() => {
        const plot = memtracer.plot, heap = plot.series.findIndex((s) => s.label === "heap");
        document.querySelector("input[value=lines]").click();
        const lines = memtracer.plot, k = lines.series.findIndex((s) => s.label === "heap");
        const most = lines.data[k].reduce((a, b) => Math.max(a, b), 0);
        document.querySelector("input[value=stacked]").click();
        return heap > 0 && most;
    });
    check(peak === p.peak, `${p.name}: the peak of heap is ${peak}, was ${p.peak}`);
    check(await page.evaluate(() => memtracer.sample.length) <= 10000, p.name + ": thinned");
    check(await page.$("#chart canvas"), p.name + ": a chart");
    check(await page.$eval("#moment", (m) => m.getAttribute("aria-live")) === "polite", "aria-live");
    check(await page.$$eval("img, iframe, object, link, [style*=url]", (l) => l.length) === 0,
        p.name + ": nothing that could load or came from a name");
    check(await page.$$eval("table", (l) => l.every((t) => t.caption)), p.name + ": captions");
    check(await page.$$eval("[aria-labelledby]", (l) => l.every((e) =>
        document.getElementById(e.getAttribute("aria-labelledby")))), p.name + ": labels");
};

const visit = async (browser, p) => {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    const requests = [], said = [];
    page.on("request", (r) => requests.push(r.url()));
    page.on("console", (m) => said.push(m.text()));
    page.on("pageerror", (e) => said.push(String(e)));
    page.on("dialog", (d) => { said.push("dialog " + d.message()); d.dismiss(); });
    await page.goto("file://" + p.html);
    check(await page.isVisible("#chart"), p.name + ": the chart is shown: " + said);
    await facts(page, p);
    await walkWithKeys(page, p);
    await zoom(page, p);
    await mouse(page, p);
    await looks(page, p);
    check(requests.length === 1, p.name + ": requests " + requests);
    check(said.length === 0, p.name + ": console " + said);
    await page.close();
};

const withoutScript = async (browser, p) => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto("file://" + p.html);
    check(!await page.isVisible("#view"), p.name + ": no empty chart without a script");
    check(await page.isVisible("#vmmap"), p.name + ": the table is there without a script");
    check((await page.locator("#vmmap tbody tr").count()) > 1, p.name + ": with rows");
    await context.close();
};

(async () => {
    const browser = await chromium.launch({
        executablePath: plan.browser,
        args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
            "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"],
    });
    for (const p of plan.pages) {
        await visit(browser, p);
        await withoutScript(browser, p);
    }
    await browser.close();
    console.log(failed + " failed");
    process.exit(failed ? 1 : 0);
})().catch((error) => {
    console.log(error);
    process.exit(1);
});
