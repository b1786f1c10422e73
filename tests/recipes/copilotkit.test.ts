import type { AbstractAgent } from "@ag-ui/client";
import { afterAll, test as base, beforeAll, expect, vi } from "vitest";
import { z } from "zod";
import { writeFilesOfExample } from "../support/page-files.ts";
import { numbered, openGateway } from "./gateway.ts";
import { importNewest } from "./newest.ts";

/*
 * The agent of the guide "AG-UI" in the core of CopilotKit, on which CopilotKit's hooks for React are built. Only
 * `scripts/newest.ts` installs the core, each week, because it would change the lockfile. The hooks would be 530 packages.
 */

interface Copilot {
  subscribe(subscriber: { onError(event: { error: Error }): void }): unknown;
  getAgent(id: string): AbstractAgent | undefined;
  runAgent(options: { agent: AbstractAgent }): Promise<unknown>;
  stopAgent(options: { agent: AbstractAgent }): void;
}
interface Installed {
  CopilotKitCore: new (options: object) => Copilot;
}
interface Page {
  SluiceAgent: new (...options: unknown[]) => AbstractAgent;
}

const installed = await importNewest<Installed>("@copilotkit/core");
// only the weekly run installs the package
const test = base.skipIf(!installed);
const files = writeFilesOfExample("ag-ui");

async function open() {
  const gateway = openGateway({ chat: numbered() });
  const { SluiceAgent } = await files<Page>("sluice-agent.ts");
  const depths: unknown[] = [];
  const errors: Error[] = [];
  const copilot = new (installed as Installed).CopilotKitCore({
    agents__unsafe_dev_only: { default: new SluiceAgent(gateway.client, "alpha-v4.1-flash") },
    tools: [
      {
        name: "get_depth",
        description: "Measures a depth",
        parameters: z.object({ place: z.string() }),
        handler: async (input: unknown) => {
          depths.push(input);
          return { metres: 11_000 };
        },
      },
    ],
  });
  copilot.subscribe({ onError: ({ error }) => void errors.push(error) });
  const agent = copilot.getAgent("default");
  if (!agent) throw new Error("CopilotKit has no agent");
  const sendMessage = (content: string) => {
    agent.addMessage({ id: crypto.randomUUID(), role: "user", content });
    return copilot.runAgent({ agent });
  };
  return { agent, sendMessage, copilot, depths, errors, requests: () => gateway.emulator.requests };
}

beforeAll(() => vi.stubEnv("DO_NOT_TRACK", "1"));
afterAll(() => vi.unstubAllEnvs());

test("CopilotKit sends a message, runs its own tool, and continues with the result", async () => {
  const { agent, sendMessage, depths, errors, requests } = await open();
  await sendMessage('Use the tool for "Mariana"');
  expect(errors).toEqual([]);
  expect(depths).toEqual([{ place: "Mariana" }]);
  expect(requests()).toHaveLength(2);
  expect(agent.messages.at(-1)).toMatchObject({
    role: "assistant",
    content: expect.stringContaining("11000"),
  });
});

test("CopilotKit gets an error for a truncated response, and keeps its text", async () => {
  const { agent, sendMessage, errors } = await open();
  await sendMessage("Tell me of lakes [[truncate]]");
  expect(errors.map(({ message }) => message).join()).toContain("The response was cut off");
  expect(agent.messages.at(-1)).toMatchObject({ role: "assistant", content: expect.stringMatching(/./) });
});

test("CopilotKit stops a run, and the gateway sees it", async () => {
  const { agent, sendMessage, copilot, requests } = await open();
  const run = sendMessage("Tell me of rivers [[stall]]");
  await expect.poll(() => agent.messages.at(-1)?.role).toBe("assistant");
  copilot.stopAgent({ agent });
  await run;
  await expect.poll(() => requests()[0]?.aborted).toBe(true);
});
