import {
  createSchedule,
  listSchedules,
  removeSchedule,
  type Schedule,
  type ScheduleTime,
} from "@sluice/core/remote";
import { useClient } from "@sluice/react";
import { X } from "lucide-react";
import { useEffect, useState } from "react";
import { morningPrompt } from "../../demo/prompts.js";
import { MORNING_PICTURE, scheduleWords, startWords } from "../room-words.js";
import { Chip, IconButton } from "../ui/button.js";
import { Panel, type PanelParts } from "./panel.js";
import { useAction } from "./use-action.js";

/** The schedules of a chat: the server makes a picture later, or each morning, with no page open. */
export function Schedules({ id, count }: PanelParts) {
  const client = useClient();
  const [schedules, setSchedules] = useState<readonly Schedule[]>();
  const { isBusy, error, run } = useAction();
  // a change, and each message, may have changed the list
  useEffect(() => {
    let isShown = true;
    if (!isBusy)
      listSchedules(client, id).then(
        (listed) => isShown && setSchedules(listed.filter(({ nextAt }) => nextAt !== null)),
        // without a network there is the list of before
        () => {},
      );
    return () => {
      isShown = false;
    };
  }, [client, id, count, isBusy]);
  const plan = (timeOf: () => ScheduleTime) => {
    const image = { model: "gamma-image-5-0-260128", prompt: morningPrompt } as const;
    run(() => createSchedule(client, id, { title: MORNING_PICTURE, image, ...timeOf() }));
  };
  return (
    <Panel title="Schedules" error={error}>
      <p className="flex flex-wrap items-center gap-2">
        <span className="font-medium">{MORNING_PICTURE}</span>
        <Chip disabled={isBusy} onClick={() => plan(eachMorning)}>
          {scheduleWords.daily}
        </Chip>
        <Chip disabled={isBusy} onClick={() => plan(() => ({ at: Date.now() + 5000 }))}>
          {scheduleWords.soon}
        </Chip>
      </p>
      {schedules?.length === 0 && <p className="text-muted">{scheduleWords.none}</p>}
      <ul>
        {schedules?.map((schedule) => (
          <li key={schedule.id} className="flex items-center gap-2">
            <span className="grow">{startWords(schedule)}</span>
            <IconButton
              label={`Remove: ${startWords(schedule)}`}
              disabled={isBusy}
              onClick={() => run(() => removeSchedule(client, id, schedule.id))}
            >
              <X aria-hidden />
            </IconButton>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function eachMorning(): ScheduleTime {
  return { time: "08:00", timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone };
}
