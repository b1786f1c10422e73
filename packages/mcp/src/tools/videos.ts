import {
  createVideoTask,
  getVideoTask,
  type VideoRequest,
  type VideoTask,
  type VideoTaskHandle,
} from "@sluice/core";
import type { models } from "@sluice/core/schemas";
import { NotSent } from "../base/not-sent.js";
import {
  type Call,
  createOutputSchema,
  createRequestSchema,
  createText,
  createToolName,
  type Input,
  type ObjectSchema,
  readText,
  type Tool,
} from "../base/tool.js";
import { watchTask } from "../base/watch.js";

/** Creates the tool that starts a video of a model. */
export function createVideoTool(model: keyof typeof models): Tool {
  return {
    name: createToolName("video_start", model),
    title: `Start a video with ${model}`,
    description: `Starts a video and returns the id of its task at once. Costs money, and cannot be cancelled. Then call video_wait with the id.`,
    inputSchema: createRequestSchema(model),
    outputSchema: createOutputSchema("id", "model"),
    paid: "idempotency",
    async run(input, { client, signal, idempotencyKey }) {
      const request: object = { ...input, model };
      const handle = await createVideoTask(client, request as VideoRequest, { signal, idempotencyKey });
      const text = `The video is started and paid for. Its task is ${handle.id}. Call video_wait with this id and model to get the video. Do not start it again.`;
      return { content: [createText(text)], structuredContent: { id: handle.id, model } };
    },
  };
}

const TASK_PROPERTIES = {
  id: { type: "string", minLength: 1, description: "Id of the task, as video_start gave it." },
  model: { type: "string", description: "Model of the task, as video_start gave it." },
};
const STATE_SCHEMA: ObjectSchema = {
  type: "object",
  properties: { id: { type: "string" }, state: { type: "string" }, progress: { type: "number" } },
  required: ["id", "state"],
};
const SECONDS_PROPERTY = {
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
  inputSchema: { type: "object", properties: TASK_PROPERTIES, required: ["id"] },
  outputSchema: STATE_SCHEMA,
  run: async (input, call) =>
    toResult(await getVideoTask(call.client, readTask(input), { signal: call.signal }), call),
};

export const videoWait: Tool = {
  name: "video_wait",
  title: "Wait for a video",
  description:
    "Waits until a video task has ended, and returns the video. Costs nothing, and can be called again for the same id.",
  inputSchema: {
    type: "object",
    properties: { ...TASK_PROPERTIES, seconds: SECONDS_PROPERTY },
    required: ["id"],
  },
  outputSchema: STATE_SCHEMA,
  async run(input, call) {
    const { client, signal, report } = call;
    const deadlineMs = readSeconds(input) * 1000;
    let latest: VideoTask | undefined;
    for await (const task of watchTask(client, readTask(input), { signal, deadlineMs })) {
      latest = task;
      report.setMessage(describeState(task));
    }
    // a watch that does not throw yields at least one task
    return toResult(latest as VideoTask, call);
  },
};

function readTask(input: Input): VideoTaskHandle {
  const id = readText(input, "id");
  return input["model"] === undefined ? { id } : { id, model: readText(input, "model") };
}

/** Reads the maximum wait, and clamps it to its bounds. */
function readSeconds({ seconds = SECONDS_PROPERTY.default }: Input): number {
  if (typeof seconds === "number")
    return Math.min(Math.max(seconds, SECONDS_PROPERTY.minimum), SECONDS_PROPERTY.maximum);
  throw new NotSent(`Nothing was sent: seconds must be a number, got ${JSON.stringify(seconds)}.`);
}

function describeState({ state, progress }: VideoTask): string {
  return progress === undefined ? state : `${state}, ${Math.round(progress * 100)} %`;
}

async function toResult(task: VideoTask, { save }: Call) {
  const { id, state, progress } = task;
  const structuredContent = { id, state, ...(progress !== undefined && { progress }) };
  if (task.state === "failed") {
    const text = `The task ${id} failed: ${task.reason ?? "the gateway gives no reason"}. There will be no video.`;
    return { content: [createText(text)], structuredContent };
  }
  if (task.state !== "succeeded")
    return {
      content: [createText(`The task ${id} is ${describeState(task)}. Call video_wait.`)],
      structuredContent,
    };
  const { link, text } = await save(task.url, `video-${id}`);
  const lastFrames = task.lastFrameURL ? [await save(task.lastFrameURL, `video-${id}-last-frame`)] : [];
  return {
    content: [
      createText(`The video ${id} is ready: ${text}`),
      link,
      ...lastFrames.flatMap((frame) => [createText(`Its last frame: ${frame.text}`), frame.link]),
    ],
    structuredContent,
  };
}
