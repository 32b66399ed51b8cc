// Looks at the overview for a while and measures in the page: node dashboard.mjs '{"url": …, "token": …, "seconds": …}'
import { chromium } from "playwright-core";

const { url, token, seconds } = JSON.parse(process.argv[2]);
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
page.on("pageerror", (error) => console.error(error.stack));
await page.addInitScript((given) => {
  sessionStorage.setItem("muster.token", given);
  const seen = (window.measured = { long: [], gaps: [], inputs: [] });
  new PerformanceObserver((list) => list.getEntries().forEach((entry) => seen.long.push(entry.duration))).observe({ type: "longtask" });
  let last = performance.now();
  const frame = (now) => {
    seen.gaps.push(now - last);
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}, token);
await page.goto(`${url}/#/overview`);
await page.getByRole("heading", { level: 1 }).waitFor();
await page.waitForTimeout(3000);

const protocol = await page.context().newCDPSession(page);
await protocol.send("Performance.enable");
const metrics = async () => Object.fromEntries((await protocol.send("Performance.getMetrics")).metrics.map(({ name, value }) => [name, value]));
const settled = async () => {
  await protocol.send("HeapProfiler.collectGarbage");
  const { usedSize } = await protocol.send("Runtime.getHeapUsage");
  const { Nodes } = await metrics();
  return { heapMib: usedSize / 1024 / 1024, nodes: Nodes };
};
const newest = async () => (await (await fetch(`${url}/api/overview`, { headers: { authorization: `Bearer ${token}` } })).json()).seq;

await page.evaluate(() => { measured.long.length = measured.gaps.length = 0; });
const [before, began, seqBefore] = [await metrics(), performance.now(), await newest()];
let quarter;
// A person who types now and then: how long until the next frame shows it.
const filter = page.getByRole("searchbox").first();
const tries = Math.max(4, Math.floor(seconds / 5));
for (let n = 0; n < tries; n++) {
  await page.waitForTimeout((began + ((n + 1) * seconds * 1000) / tries) - performance.now());
  await filter.evaluate((input, text) => new Promise((done) => {
    const pressed = performance.now();
    input.value = text;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    requestAnimationFrame(() => setTimeout(() => { measured.inputs.push(performance.now() - pressed); done(); }));
  }), n % 2 ? "task" : "");
  if (!quarter && n >= tries / 4) quarter = await settled();
}
const [after, ended, seqAfter] = [await metrics(), performance.now(), await newest()];
const { long, gaps, inputs } = await page.evaluate(() => measured);
const end = await settled();
await browser.close();

const sorted = (list) => [...list].sort((a, b) => a - b);
const at = (list, part) => sorted(list)[Math.min(list.length - 1, Math.floor(list.length * part))] ?? 0;
const span = (ended - began) / 1000;
console.log(JSON.stringify({
  seconds: span,
  entries: seqAfter - seqBefore,
  busyPercent: (100 * (after.TaskDuration - before.TaskDuration)) / span,
  longTasks: long.length,
  longestTaskMs: Math.max(0, ...long),
  frameP50Ms: at(gaps, 0.5),
  frameP99Ms: at(gaps, 0.99),
  frameMaxMs: at(gaps, 1),
  inputs: inputs.length,
  inputP50Ms: at(inputs, 0.5),
  inputMaxMs: at(inputs, 1),
  heapQuarterMib: quarter.heapMib,
  heapEndMib: end.heapMib,
  nodesQuarter: quarter.nodes,
  nodesEnd: end.nodes,
}));
