import { useStore } from "@nanostores/react";
import { type ReactNode, useEffect } from "react";
import { Button } from "@/components/sluice/button";
import { type HostedProblem, hostedProblem, startService } from "./start.js";

/** True if the page is built as static files. */
const isHosted = import.meta.env.MODE === "hosted";

/** Reasons why this browser can't run the studio, and what to do. */
const words: Readonly<Record<HostedProblem["kind"], { readonly title: string; readonly hint: string }>> = {
  unsupported: {
    title: "This browser can't run the studio here",
    hint: "It needs Service Workers. Some private windows have none; neither do pages without HTTPS.",
  },
  unloaded: { title: "The studio is not loaded yet", hint: "You are offline. Try again with a connection." },
  failed: {
    title: "The studio could not start",
    hint: "The browser may refuse storage, as in a private window. Allow it, or open a normal window.",
  },
};

/** Time from the first render until the Service Worker starts, in milliseconds. A request starts it at once. */
const SETTLE_MS = 500;

/** Starts the Service Worker of a hosted page when the first screen is there, and says so where it can't. */
export function HostedGuard({ children }: { readonly children: ReactNode }) {
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
  const { title, hint } = words[kind];
  return (
    <main className="flex h-full overflow-y-auto">
      <div role="alert" className="m-auto flex max-w-lg flex-col items-center gap-4 p-8 text-center">
        <h1 className="text-lg font-semibold text-balance">{title}</h1>
        <p className="text-muted-foreground">{hint}</p>
        {detail && <p className="font-mono text-xs wrap-anywhere text-muted-foreground">{detail}</p>}
        {kind !== "unsupported" && <Button onClick={onRetry}>Try again</Button>}
        <p className="text-sm text-muted-foreground">
          With a clone: <code className="font-mono">npx -y pnpm@12.21.0 demo</code>
        </p>
      </div>
    </main>
  );
}
