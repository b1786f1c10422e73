import {
  createVideoTask,
  isGatewayError,
  type VideoRequest,
  type VideoTask,
  type VideoTaskReference,
  watchVideoTask,
} from "@sluice/core";
import { describeThrown } from "@sluice/core/internal";
import { saveMedia } from "../save.js";
import { withFields } from "./arguments.js";
import { bar } from "./bar.js";
import { UsageError } from "./connect.js";
import { json, modelOf, NotReady, promptOf, type Task, TaskFailed } from "./task.js";

/** Starts a video or finds one again, waits for it, and saves it. */
export async function video(task: Task): Promise<void> {
  const { args, out, err } = task;
  if (args.resume !== undefined && args.words.length > 0)
    throw new UsageError("--resume takes the id of a video that is started: leave the words out.");
  const handle = args.resume === undefined ? await started(task) : { id: args.resume };
  if (args.json && args["no-wait"]) return void out.write(json(handle));
  if (args.resume === undefined) err.write(`The video is started and paid for. Its id is ${handle.id}\n`);
  if (args["no-wait"]) return void out.write(`${handle.id}\n`);
  const done = await ended(task, handle);
  if (done.state === "failed")
    throw new TaskFailed(`The video failed: ${done.reason ?? "no reason is given"}`);
  if (done.state !== "succeeded") throw new NotReady(`The video is ${done.state}`, handle.id);
  const { id, url } = done;
  const options = { folder: args.out, maxBytes: 2 ** 30, signal: task.signal };
  const { path, says } = await saveMedia(task.client, url, `video-${id}`, options);
  out.write(args.json ? json({ id, state: done.state, url, path }) : `${says}\n`);
}

async function started(task: Task): Promise<VideoTaskReference> {
  const { args, client, signal } = task;
  const model = modelOf("video", args);
  const prompt = await promptOf(task);
  const content = model.startsWith("beta")
    ? { input: { prompt } }
    : { content: [{ type: "text", text: prompt }] };
  const request = withFields({ model, ...content }, args.set) as unknown as VideoRequest;
  return createVideoTask(client, request, { signal });
}

async function ended({ client, signal, args, err }: Task, handle: VideoTaskReference): Promise<VideoTask> {
  let last: VideoTask | undefined;
  try {
    for await (const task of watchVideoTask(client, handle, { signal })) {
      last = task;
      if (!args.json) err.replace(bar(task.progress, task.state));
    }
    return last as VideoTask;
  } catch (error) {
    if (isGatewayError(error) && error.name !== "TimeoutError") throw error;
    const reason = describeThrown(error);
    throw new NotReady(
      `${reason}\nThe video goes on. Wait for it: sluice video --resume ${handle.id}`,
      handle.id,
    );
  }
}
