import { useStore } from "@nanostores/react";
import type { ReactNode } from "react";
import { Button } from "@/components/sluice/button";
import { type HostedProblem, hostedProblem, startService } from "./start.js";

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

/** Shows a hosted page, or says why its Service Worker can't start. */
export function HostedGuard({ children }: { readonly children: ReactNode }) {
  const problem = useStore(hostedProblem);
  const start = () => void startService().catch(() => {});
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
