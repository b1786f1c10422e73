import { defineTool } from "@sluice/core";

interface Jobs {
  start(input: unknown): Promise<{ id: string }>;
  wait(id: string, onProgress: (share: number) => void, signal: AbortSignal): Promise<string>;
}

export const createChartTool = (jobs: Jobs) =>
  defineTool({
    name: "render_chart",
    inputSchema: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
    timeoutMs: 600_000,
    async execute(input, { savedState, saveState, reportProgress, attachFile, signal }) {
      const { id } = (savedState as { id: string } | undefined) ?? (await jobs.start(input));
      await saveState({ id });
      attachFile({ type: "image/png", url: await jobs.wait(id, reportProgress, signal) });
      return "The user sees the chart.";
    },
  });
