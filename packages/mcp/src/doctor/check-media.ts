import { isRecord } from "@sluice/core/extend";
import { describe } from "./check-connection.js";
import {
  type Check,
  type Checks,
  combine,
  combineModels,
  confirm,
  type Finding,
  refute,
  skip,
} from "./findings.js";
import { type MediaRun, readImages, readTask } from "./media.js";

/** Checks by the images and videos that were paid for. */
export const mediaChecks = {
  "image-result": checkMedia("image", ({ created }) => {
    if (created.status !== 200) return skip(describe(created));
    const images = readImages(created);
    const hasFile = images.length > 0 && images.every(({ url, b64_json: base64 }) => url ?? base64);
    return hasFile ? confirm() : refute(created.text.slice(0, 100));
  }),
  "image-size": checkMedia("image", ({ refused, created }) => {
    if (refused && created.status === 200) return refute(describe(refused));
    return created.status === 200 ? confirm() : skip(describe(created));
  }),
  "file-url": ({ media }) =>
    combine(
      media.map(({ fileStatus }) => {
        if (fileStatus === undefined) return skip("no result had a URL");
        return fileStatus === 200 || fileStatus === 206
          ? confirm()
          : refute(fileStatus === 0 ? "the URL cannot be fetched" : `${fileStatus} without a key`);
      }),
      "no image and no video was made",
    ),
  "task-known": checkTasks(({ queries: [first] }) =>
    first?.status === 200 ? confirm() : refute(first ? describe(first) : "no query"),
  ),
  "task-shape": checkTasks(({ queries }) => {
    const bodies = queries.filter(({ status }) => status === 200).map(({ json }) => readRecord(json));
    if (bodies.length === 0) return skip("no query got a response");
    const index = bodies.findIndex((body) => typeof body?.["status"] !== "string");
    if (index < 0) return confirm();
    return refute(`no status in ${JSON.stringify(bodies[index] ?? null).slice(0, 80)}`);
  }),
  "task-status": checkTasks(({ queries, model }) => {
    const unknownWords = queries.flatMap((query) => {
      const task = readTask(query, model);
      return task?.state === "unknown" ? task.rawStatus : [];
    });
    return unknownWords.length === 0 ? confirm() : refute([...new Set(unknownWords)].join(", "));
  }),
  "task-url": checkTasks(({ queries, model }) => {
    const last = queries.at(-1);
    const task = last && readTask(last, model);
    if (task?.state === "succeeded") return confirm(task.urlSource);
    return task?.state === "result-pending"
      ? refute(`no URL in ${last?.text.slice(0, 100)}`)
      : skip(`the task is ${task?.state ?? "not readable"}`);
  }),
  "task-progress": checkTasks(({ queries }) => {
    const values = queries.map(({ json }) => Number.parseFloat(String(readRecord(json)?.["progress"])));
    const known = values.filter((value) => !Number.isNaN(value));
    if (known.length < 2) return skip("there were not two values");
    return known.every((value, index) => index === 0 || value >= (known[index - 1] ?? 0))
      ? confirm()
      : refute(`${known.join(", ")} %`);
  }),
} satisfies Checks;

function checkMedia(kind: MediaRun["kind"], check: (run: MediaRun) => Finding): Check {
  return ({ media }) => {
    const runs = media.filter((run) => run.kind === kind);
    return combineModels(runs, check, `no ${kind} was made`);
  };
}

function checkTasks(check: (run: MediaRun) => Finding): Check {
  return checkMedia("video", (run) =>
    run.created.status === 200 ? check(run) : skip(describe(run.created)),
  );
}

/** Returns the task in the response to a query, which may have an envelope. */
function readRecord(json: unknown): Readonly<Record<string, unknown>> | undefined {
  if (!isRecord(json)) return undefined;
  return isRecord(json["data"]) && typeof json["status"] !== "string" ? json["data"] : json;
}
