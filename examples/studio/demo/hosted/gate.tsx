import { useStore } from "@nanostores/react";
import { type ReactNode, useEffect } from "react";
import { Button } from "@/components/sluice/button";
import { isHosted } from "../../src/server.js";
import { hostedWords } from "../../src/words.js";
import { type HostedProblem, hostedProblem, startService } from "./start.js";

/** Time from the first render until the Service Worker starts, in milliseconds. A request starts it at once. */
const SETTLE_MS = 500;

/** Starts the Service Worker of a hosted page when the first screen is there, and says so where it can't. */
export function HostedGate({ children }: { readonly children: ReactNode }) {
  const problem = useStore(hostedProblem);
  const start = () => void startService().catch(() => {});
  useEffect(() => {
    if (!isHosted) return;
    // after the first paint: what the worker loads would stand in its way
    const timer = setTimeout(start, SETTLE_MS);
    return () => clearTimeout(timer);
  }, []);
  return problem ? <Unavailable problem={problem} onRetry={start} /> : children;
}

interface UnavailableProps {
  readonly problem: HostedProblem;
  readonly onRetry: () => void;
}

/** The page where this browser can't run the studio: the reason, and the ways out. */
function Unavailable({ problem: { kind, detail }, onRetry }: UnavailableProps) {
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
