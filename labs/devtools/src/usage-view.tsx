import type { RecordingSnapshot } from "./recording.js";

/** Tokens and images by model. */
export function UsageView({ recorded }: { readonly recorded: RecordingSnapshot }) {
  const { usage } = recorded;
  if (usage.size === 0) return <p>No response has reported its usage yet.</p>;
  return (
    <table aria-label="Usage">
      <thead>
        <tr>
          <th>Model</th>
          <th>Calls</th>
          <th>Tokens in</th>
          <th>Tokens out</th>
          <th>Images</th>
        </tr>
      </thead>
      <tbody>
        {[...usage].map(([model, { calls, inputTokens, outputTokens, images }]) => (
          <tr key={model}>
            <td>{model}</td>
            <td>{calls}</td>
            <td>{inputTokens}</td>
            <td>{outputTokens}</td>
            <td>{images}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
