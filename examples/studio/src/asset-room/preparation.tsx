import type { UseAssetResult } from "@sluice/react";
import { Questions } from "../room/questions.js";
import { duration, useNow } from "../room/use-now.js";

interface PreparationProps {
  readonly asset: UseAssetResult;
  /** Unix milliseconds. */
  readonly since: number;
}

/** How long it has been prepared, how long that usually takes, and when the gateway is asked. */
export function Preparation({ asset, since }: PreparationProps) {
  const now = useNow();
  return (
    <>
      {/* the gateway's own figures, of which it promises none */}
      <p className="hint">
        {duration(now - since)} since it was registered · usually 6 to 9 s, up to 2 min when the queue is long
      </p>
      <Questions watched={asset} next={nextOf(asset, now)} />
    </>
  );
}

function nextOf({ fetchStatus, pauseReason, nextPollAt }: UseAssetResult, now: number): string {
  if (fetchStatus === "paused")
    return pauseReason === "offline" ? "Paused: you are offline." : "Paused while nobody sees this page.";
  if (nextPollAt === undefined) return "The gateway is being asked.";
  return `Asked about again in ${Math.max(0, Math.ceil((nextPollAt - now) / 1000))} s.`;
}
