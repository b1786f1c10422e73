import {
  createVideoTask,
  getVideoTask,
  type VideoRequest,
  type VideoTask,
  type VideoTaskReference,
  watchVideoTask,
} from "@sluice/core";
import type { videoModels } from "@sluice/core/schemas";
import { type Call, type Input, requestSchema, type Tool, text, toolName } from "./tool.js";

/** Makes the tool that starts a video of a model. */
export function videoTool(model: keyof typeof videoModels): Tool {
  return {
    name: toolName("video_start", model),
    title: `Start a video with ${model}`,
    description: `Starts a video with the model ${model} and returns the id of its task at once. Costs money, and cannot be cancelled. Then call video_wait with the id.`,
    inputSchema: requestSchema(model),
    paid: "once",
    async run(input, { client, signal, idempotencyKey }) {
      const request = { ...input, model } as unknown as VideoRequest;
      const handle = await createVideoTask(client, request, { signal, idempotencyKey });
      const says = `The video is started and paid for. Its task is ${handle.id}. Call video_wait with this id and model to get the video. Do not start it again.`;
      return { content: [text(says)], structuredContent: { ...handle } };
    },
  };
}

const TASK = {
  id: { type: "string", minLength: 1, description: "Id of the task, as video_start gave it." },
  model: { type: "string", description: "Model of the task, as video_start gave it." },
};
const WAIT = {
  type: "number",
  minimum: 1,
  maximum: 1800,
  default: 600,
  description: "Longest wait, in seconds. If the video is not ready then, call again with the same id.",
};

export const videoStatus: Tool = {
  name: "video_status",
  title: "State of a video",
  description: "Returns the state of a video task now. Costs nothing.",
  inputSchema: { type: "object", properties: TASK, required: ["id"] },
  run: async (input, call) =>
    resultOf(await getVideoTask(call.client, taskOf(input), { signal: call.signal }), call),
};

export const videoWait: Tool = {
  name: "video_wait",
  title: "Wait for a video",
  description:
    "Waits until a video task has ended, and returns the video. Costs nothing, and can be called again for the same id.",
  inputSchema: { type: "object", properties: { ...TASK, seconds: WAIT }, required: ["id"] },
  async run(input, call) {
    const { client, signal, report } = call;
    const asked = typeof input["seconds"] === "number" ? input["seconds"] : WAIT.default;
    const seconds = Math.min(Math.max(asked, WAIT.minimum), WAIT.maximum);
    let last: VideoTask | undefined;
    for await (const task of watchVideoTask(client, taskOf(input), { signal, deadlineMs: seconds * 1000 })) {
      last = task;
      report.waiting(stateOf(task));
    }
    return resultOf(last as VideoTask, call);
  },
};

function taskOf({ id, model }: Input): VideoTaskReference {
  return { id: String(id ?? ""), ...(typeof model === "string" && { model }) };
}

/** Writes the state of a task for a reader. */
function stateOf({ state, progress }: VideoTask): string {
  return progress === undefined ? state : `${state}, ${Math.round(progress * 100)} %`;
}

async function resultOf(task: VideoTask, { save }: Call) {
  const { id, state, progress } = task;
  const structuredContent = { id, state, ...(progress !== undefined && { progress }) };
  if (task.state === "failed") {
    const says = `The task ${id} failed: ${task.reason ?? "the gateway gives no reason"}. There will be no video.`;
    return { content: [text(says)], structuredContent };
  }
  if (task.state !== "succeeded")
    return { content: [text(`The task ${id} is ${stateOf(task)}. Call video_wait.`)], structuredContent };
  const { link, says } = await save(task.url, `video-${id}`);
  const frame = task.lastFrameURL ? [await save(task.lastFrameURL, `video-${id}-last-frame`)] : [];
  return {
    content: [
      text(`The video ${id} is ready: ${says}`),
      link,
      ...frame.flatMap((last) => [text(`Its last frame: ${last.says}`), last.link]),
    ],
    structuredContent,
  };
}
