import type { ThreadMessage } from "@sluice/core";

/** What an answer took, small: the numbers are for those who look for them. */
export function Stats({ message: { model, timing, usage } }: { message: ThreadMessage }) {
  const { firstTokenMs, totalMs, tokensPerSecond } = timing ?? {};
  const facts = [
    model,
    firstTokenMs !== undefined && `first token ${seconds(firstTokenMs)}`,
    tokensPerSecond !== undefined && `${Math.round(tokensPerSecond)} tokens/s`,
    usage && `${usage.completion_tokens} tokens`,
    totalMs !== undefined && `${seconds(totalMs)} in all`,
  ].filter((fact) => typeof fact === "string");
  return (
    <ul className="stats" aria-label="Statistics">
      {facts.map((fact) => (
        <li key={fact}>{fact}</li>
      ))}
    </ul>
  );
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}
