import type { JobEvent } from "../job-event.js";
import type { KeptLetter } from "./dead-letter-rows.js";
import type { TaskAnswer } from "./task-query.js";
import type { EndedTask, EndProgress } from "./watch-end.js";

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
