import type { JobEvent } from "@sluice/worker-proxy";
import type { KeptLetter } from "../notices/dead-letter-rows.js";
import type { EndedTask, EndProgress } from "./end.js";
import type { TaskAnswer } from "./task-query.js";

/** The parts of a watch that its options decide. */
export interface WatchParts {
  readonly poll: (taskId: string) => Promise<TaskAnswer>;
  readonly intervalMs: number;
  readonly rememberMs: number | undefined;
  readonly onEnd:
    | ((
        ended: EndedTask,
        work: Pick<EndProgress<never>, "again" | "progress" | "save" | "giveUp">,
      ) => Promise<number | undefined>)
    | undefined;
  readonly keepLetter: ((letter: KeptLetter) => Promise<void>) | undefined;
  readonly report: (event: JobEvent) => void;
}
