import { type Client, createVideoTask, defineTool } from "@sluice/core";
import * as v from "valibot";
import { askAbove } from "./prices.ts";

export const createVideoTool = (client: Client) =>
  defineTool({
    name: "create_video",
    description: "Creates a video. The duration is in seconds",
    inputSchema: v.object({ prompt: v.string(), duration: v.pipe(v.number(), v.integer(), v.minValue(2)) }),
    needsApproval: (input) => askAbove(build(input)) !== undefined,
    execute: (input, { signal }) => createVideoTask(client, build(input), { signal }),
  });

function build({ prompt, duration }: { prompt: string; duration: number }) {
  return { model: "beta3.0-video", input: { prompt }, parameters: { duration, resolution: "720P" } } as const;
}
