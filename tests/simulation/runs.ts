import { defineTool, type Tool } from "@sluice/core";
import { type Runner, runner } from "@sluice/sync/server";
import type { GatewayProxy, JobEvent } from "@sluice/worker-proxy";
import { getCurrentPage, type Page } from "./page.js";

/* Turns that the object of a conversation does: its runner, with tools that tell the simulation of each of their runs. */

/** One run of a tool. */
export interface ToolRun {
  /** The page or object that ran it. */
  readonly page: Page;
  readonly name: string;
  /** Id of the message whose call it was, and that of the call. */
  readonly messageId: string;
  readonly callId: string;
}

/** The side of a simulation that hears of its turns. */
export interface RunsListener {
  readonly onTool: (run: ToolRun) => void;
  /** Called with the event of each turn that has ended. */
  readonly onEnd: (event: JobEvent) => void;
}

/** Tool of a page, which no object can run. */
const ON_PAGE = "paged";
/** Milliseconds for which a slow tool works. */
const SLOW_MS = 8000;
const parameters = { type: "object" } as const;

/** Makes the runner of a conversation's object. */
export function createRunner<Env>(
  proxy: () => GatewayProxy<Env>,
  { onTool, onEnd }: RunsListener,
): Runner<Env> {
  return runner<Env>({
    proxy,
    model: "alpha-v4.1-flash",
    maxSteps: 4,
    tools: [
      createTool("quick", { onTool, says: "done" }),
      createTool("slow", { onTool, says: "done at last", ms: SLOW_MS }),
      createTool("guarded", { onTool, says: "allowed", needsApproval: true }),
      createTool("kept", { onTool, says: "done in two parts", ms: SLOW_MS, keeps: true }),
      defineTool({ name: "asked", inputSchema: parameters }),
      defineTool({ name: ON_PAGE, inputSchema: parameters }),
    ],
    onEvent: onEnd,
  });
}

/** Makes the tools of a page whose turns run on the server. It has one of the server's, too, which it may not run. */
export function createPageTools(onTool: RunsListener["onTool"]): Tool[] {
  return [
    createTool(ON_PAGE, { onTool, says: "done on a page", ms: SLOW_MS }),
    createTool("quick", { onTool, says: "done by the wrong one" }),
    defineTool({ name: "asked", inputSchema: parameters }),
  ];
}

interface Work {
  readonly onTool: RunsListener["onTool"];
  readonly says: string;
  readonly ms?: number;
  readonly needsApproval?: boolean;
  /** Creates a tool that saves its state. The first part of the state is the run. */
  readonly keeps?: boolean;
}

function createTool(name: string, { onTool, says, ms = 0, needsApproval = false, keeps = false }: Work) {
  return defineTool({
    name,
    inputSchema: parameters,
    needsApproval,
    async execute(_, { toolCallId: callId, messages, signal, savedState, saveState }) {
      const page = getCurrentPage() as Page;
      if (savedState === undefined) {
        onTool({ page, name, callId, messageId: messages.at(-1)?.id ?? "" });
        if (keeps) await saveState("the first part is done");
      }
      await page.clock.sleep(ms, signal);
      return says;
    },
  });
}
