import { Button } from "../ui/button.js";
import { hostedWords } from "../words.js";
import type { HostedProblem } from "./start.js";

interface UnavailableProps {
  readonly problem: HostedProblem;
  readonly onRetry: () => void;
}

/** The page where this browser can't run the studio: the reason, and the ways out. */
export function Unavailable({ problem: { kind, detail }, onRetry }: UnavailableProps) {
  const { title, hint } = hostedWords(kind);
  return (
    <main className="flex h-full overflow-y-auto">
      <div role="alert" className="m-auto flex max-w-lg flex-col items-center gap-4 p-8 text-center">
        <h1 className="text-lg font-semibold text-balance">{title}</h1>
        <p className="text-muted">{hint}</p>
        {detail && <p className="font-mono text-xs wrap-anywhere text-muted">{detail}</p>}
        {kind !== "unsupported" && <Button onClick={onRetry}>Try again</Button>}
        <p className="text-sm text-muted">
          With a clone: <code className="font-mono">npx -y pnpm@12.21.0 demo</code>
        </p>
      </div>
    </main>
  );
}
