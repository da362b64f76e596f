// Feeds recorded runs to the loop detector of Gemini CLI core, as its own client does.
//
//     node drive_gemini.mjs FOLDER < RUNS
//
// FOLDER is where the package is installed. Every run is a line of JSON on standard input; every answer is one on
// standard output, after a first line that names the version. What the model wrote becomes a content event, each call
// a request event. After a report the detection is cleared, which is what the client does to go on, so that every
// later call can be reported again. The check that asks a language model needs one, and is not made.

import { createInterface } from "node:readline";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const core = join(process.argv[2], "node_modules", "@google", "gemini-cli-core");
const load = (...parts) => import(pathToFileURL(join(core, "dist", "src", ...parts)).href);
const { LoopDetectionService } = await load("services", "loopDetectionService.js");
const { GeminiEventType } = await load("core", "turn.js");
const { version } = JSON.parse(readFileSync(join(core, "package.json"), "utf8"));

// The few questions that the detector and its telemetry ask of the client's configuration.
const config = new Proxy(
  { getDisableLoopDetection: () => false, getSessionId: () => "benchmark" },
  { get: (known, name) => known[name] ?? (() => undefined) },
);

function answer(run) {
  const detector = new LoopDetectionService({ config });
  detector.reset(run.name, run.task);
  const reports = [];
  const start = process.cpuUsage();
  let turn = -1;
  run.calls.forEach((call, index) => {
    let found = 0;
    if (call.turn !== turn && call.text) {
      found += detector.addAndCheck({ type: GeminiEventType.Content, value: call.text }).count;
    }
    turn = call.turn;
    const value = { callId: String(index), name: call.tool, args: call.args, prompt_id: run.name };
    found += detector.addAndCheck({ type: GeminiEventType.ToolCallRequest, value }).count;
    if (found) {
      reports.push({ call: index, kind: "loop" });
      detector.clearDetection();
    }
  });
  const used = process.cpuUsage(start);
  return { reports, checks: run.calls.length, seconds: (used.user + used.system) / 1e6 };
}

console.log(JSON.stringify({ version }));
for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  console.log(JSON.stringify(answer(JSON.parse(line))));
}
process.exit(0);
