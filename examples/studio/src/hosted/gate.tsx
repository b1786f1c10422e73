import { useStore } from "@nanostores/react";
import { type ReactNode, useEffect } from "react";
import { isHosted } from "../server.js";
import { hostedProblem, startService } from "./start.js";
import { Unavailable } from "./unavailable.js";

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

/** Time from the first render until the Service Worker starts, in milliseconds. A request starts it at once. */
const SETTLE_MS = 500;
