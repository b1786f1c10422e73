import {
  createVideoTask,
  isGatewayError,
  type VideoRequest,
  type VideoTask,
  type VideoTaskHandle,
  watchVideoTask,
} from "@sluice/core";
import { describeThrown } from "@sluice/core/extend";
import { saveMedia } from "../base/save.js";
import { NoTask, watchTask } from "../base/watch.js";
import { setFields } from "./arguments.js";
import { formatBar, showProgress } from "./bar.js";
import { UsageError } from "./connect.js";
import {
  checkFolder,
  chooseModel,
  formatJSON,
  NotReady,
  PARTIAL_CODE,
  readPrompt,
  type Task,
  TaskFailed,
} from "./task.js";

/** Starts or resumes a video, waits for it, and saves it. Returns the exit code. */
export async function runVideo(task: Task): Promise<number> {
  const { args, out, err } = task;
  if (args.resume !== undefined && args.words.length > 0)
    throw new UsageError("--resume takes the id of a video that is started: leave the words out.");
  if (args.resume === "")
    throw new UsageError("--resume needs the id of a video: sluice video --resume <id>");
  const handle = args.resume === undefined ? await startVideo(task) : { id: args.resume };
  if (args.json && args["no-wait"]) return write(formatJSON(handle));
  if (args.resume === undefined) err.write(`The video has started. Its id is ${handle.id}\n`);
  if (args["no-wait"]) return write(`${handle.id}\n`);
  if (args.resume !== undefined) await checkFolder(args.out);
  const done = await waitForVideo(task, handle);
  if (done.state === "failed")
    throw new TaskFailed(`The video failed: ${done.reason ?? "no reason is given"}`);
  if (done.state !== "succeeded") throw new NotReady(`The video is ${done.state}`, handle.id);
  const { id, url } = done;
  const options = { folder: args.out, maxBytes: 2 ** 30, signal: task.signal };
  const { path, text, error } = await saveMedia(task.client, url, `video-${id}`, options);
  const shortfall = error !== undefined && { error: { name: "NotSaved", message: error } };
  write(args.json ? formatJSON({ id, state: done.state, url, path, ...shortfall }) : `${text}\n`);
  return error === undefined ? 0 : PARTIAL_CODE;

  function write(text: string): number {
    out.write(text);
    return 0;
  }
}

async function startVideo(task: Task): Promise<VideoTaskHandle> {
  const { args, client, signal } = task;
  const { model, checks } = chooseModel("video", task);
  const prompt = await readPrompt(task);
  const content = model.startsWith("beta")
    ? { input: { prompt } }
    : { content: [{ type: "text", text: prompt }] };
  const request = setFields({ model, ...content }, args.set) as VideoRequest;
  if (!args["no-wait"]) await checkFolder(args.out);
  return createVideoTask(client, request, { signal, checks });
}

async function waitForVideo(task: Task, handle: VideoTaskHandle): Promise<VideoTask> {
  const { client, signal, args, err } = task;
  let latest: VideoTask | undefined;
  const progress = args.json
    ? undefined
    : showProgress(err, client.clock, (options) =>
        formatBar(latest?.progress, latest?.state ?? "waiting", options),
      );
  const isKnown = args.resume === undefined;
  const snapshots = isKnown
    ? watchVideoTask(client, handle, { signal })
    : watchTask(client, handle, { signal });
  try {
    for await (const snapshot of snapshots) {
      latest = snapshot;
      progress?.update();
    }
    // a watch that does not throw yields at least one task
    return latest as VideoTask;
  } catch (error) {
    if (error instanceof NoTask || (isGatewayError(error) && error.name !== "TimeoutError")) throw error;
    const state = isKnown || latest ? "The video continues." : "The gateway has not responded for this id.";
    const text = `${describeThrown(error)}\n${state} Wait for it: sluice video --resume ${handle.id}`;
    throw new NotReady(text, handle.id);
  } finally {
    progress?.end();
    err.endLine();
  }
}
