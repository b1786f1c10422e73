import { isRecord } from "@sluice/core/extend";
import { describe } from "./check-connection.js";
import { type Check, type Checks, combine, differs, type Finding, holds, unclear } from "./findings.js";
import { type MediaRun, readImages, readTask } from "./media.js";

type MediaName =
  | "image-result"
  | "image-size"
  | "file-url"
  | "task-known"
  | "task-shape"
  | "task-status"
  | "task-url"
  | "task-progress";

/** Checks by one image or one video. */
export const mediaChecks: Checks<MediaName> = {
  "image-result": each("image", ({ created }) => {
    if (created.status !== 200) return unclear(describe(created));
    const images = readImages(created);
    const hasFile = images.length > 0 && images.every(({ url, b64_json: base64 }) => url ?? base64);
    return hasFile ? holds() : differs(created.text.slice(0, 100));
  }),
  "image-size": each("image", ({ refused, created }) => {
    if (refused && created.status === 200) return differs(describe(refused));
    return created.status === 200 ? holds() : unclear(describe(created));
  }),
  "file-url": ({ media }) =>
    combine(
      media.map(({ fileStatus }) => {
        if (fileStatus === undefined) return unclear("no result had a URL");
        return fileStatus === 200 || fileStatus === 206
          ? holds()
          : differs(fileStatus === 0 ? "the URL cannot be fetched" : `${fileStatus} without a key`);
      }),
      "no image and no video was made",
    ),
  "task-known": eachTask(({ queries: [first] }) =>
    first?.status === 200 ? holds() : differs(first ? describe(first) : "no query"),
  ),
  "task-shape": eachTask(({ queries }) => {
    const bodies = queries.filter(({ status }) => status === 200).map(({ json }) => readRecord(json));
    const odd = bodies.find((body) => typeof body?.["status"] !== "string");
    if (bodies.length === 0) return unclear("no query was answered");
    return bodies.every((body) => typeof body?.["status"] === "string")
      ? holds()
      : differs(`no status in ${JSON.stringify(odd ?? null).slice(0, 80)}`);
  }),
  "task-status": eachTask(({ queries, model }) => {
    const odd = queries.flatMap((query) => {
      const task = readTask(query, model);
      return task?.state === "unknown" ? task.rawStatus : [];
    });
    return odd.length === 0 ? holds() : differs([...new Set(odd)].join(", "));
  }),
  "task-url": eachTask(({ queries, model }) => {
    const last = queries.at(-1);
    const task = last && readTask(last, model);
    if (task?.state === "succeeded") return holds(task.urlSource);
    return task?.state === "result-pending"
      ? differs(`no URL in ${last?.text.slice(0, 100)}`)
      : unclear(`the task is ${task?.state ?? "not readable"}`);
  }),
  "task-progress": eachTask(({ queries }) => {
    const values = queries.map(({ json }) => Number.parseFloat(String(readRecord(json)?.["progress"])));
    const known = values.filter((value) => !Number.isNaN(value));
    if (known.length < 2) return unclear("there were not two values");
    return known.every((value, at) => at === 0 || value >= (known[at - 1] ?? 0))
      ? holds()
      : differs(`${known.join(", ")} %`);
  }),
};

function each(kind: MediaRun["kind"], check: (run: MediaRun) => Finding): Check {
  return ({ media }) =>
    combine(
      media.filter((run) => run.kind === kind).map((run) => withModel(run, check(run))),
      `no ${kind} was made`,
    );
}

function eachTask(check: (run: MediaRun) => Finding): Check {
  return each("video", (run) => (run.created.status === 200 ? check(run) : unclear(describe(run.created))));
}

function withModel({ model }: MediaRun, finding: Finding): Finding {
  return finding.verdict === "differs" ? differs(`${model}: ${finding.found}`) : finding;
}

/** Returns the task of a query, with or without its envelope. */
function readRecord(json: unknown): Readonly<Record<string, unknown>> | undefined {
  if (!isRecord(json)) return undefined;
  return isRecord(json["data"]) && typeof json["status"] !== "string" ? json["data"] : json;
}
