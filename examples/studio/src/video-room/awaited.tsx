import type { UseVideoTaskResult } from "@sluice/react";
import { Questions } from "../room/questions.js";
import { moment, useNow } from "../room/use-now.js";
import { nextOf } from "./words.js";

/** When the gateway is asked about a task, why it is not, and until when it can be. */
export function Awaited({ video, until }: { video: UseVideoTaskResult; until: number | undefined }) {
  return (
    <>
      <Questions watched={video} next={nextOf(video, useNow())} />
      {until !== undefined && <p className="hint">It can be asked about until {moment(until)}.</p>}
    </>
  );
}
