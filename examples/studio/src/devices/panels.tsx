import {
  type ConversationAccess,
  createConversationLink,
  createSchedule,
  listSchedules,
  type NewConversationLink,
  removeConversationLink,
  removeSchedule,
  type Schedule,
  type ScheduleTime,
} from "@sluice/core/remote";
import { useClient } from "@sluice/react";
import { describeError } from "@sluice/react/app";
import { ExternalLink, X } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { Button, Chip, IconButton } from "@/components/sluice/button";
import { CopyButton } from "@/components/sluice/copy-button";
import { morningPrompt } from "../../demo/prompts.js";
import {
  MORNING_PICTURE,
  OPEN_ELSEWHERE,
  openWords,
  scheduleWords,
  shareWords,
  startWords,
} from "../room-words.js";
import { linkAddressOf } from "./device-client.js";

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

/** Makes a link to a chat, by which users of other names join. */
export function Share({ id }: Pick<PanelParts, "id">) {
  const client = useClient();
  const [link, setLink] = useState<NewConversationLink>();
  const { isBusy, error, run } = useAction();
  const make = (access: ConversationAccess) =>
    run(async () => setLink(await createConversationLink(client, id, { access, ms: 86_400_000 })));
  const takeBack = ({ id: linkId }: NewConversationLink) =>
    run(async () => {
      await removeConversationLink(client, id, linkId);
      setLink(undefined);
    });
  return (
    <Panel title="Share" error={error}>
      <p className="flex flex-wrap items-center gap-2">
        <Chip disabled={isBusy} onClick={() => make("read")}>
          {shareWords.read}
        </Chip>
        <Chip disabled={isBusy} onClick={() => make("write")}>
          {shareWords.write}
        </Chip>
      </p>
      <p className="text-muted">{OPEN_ELSEWHERE}</p>
      {link && (
        <p className="flex items-center gap-1">
          <a
            href={linkAddressOf(link.token)}
            target="_blank"
            rel="noreferrer"
            className="control inline-flex min-w-0 grow items-center gap-1 text-accent underline [&_svg]:size-4 [&_svg]:shrink-0"
          >
            <span className="truncate">{openWords(link.access)}</span>
            <ExternalLink aria-hidden />
          </a>
          <CopyButton text={linkAddressOf(link.token)} />
          <Button look="quiet" disabled={isBusy} onClick={() => takeBack(link)}>
            Take back
          </Button>
        </p>
      )}
    </Panel>
  );
}

interface PanelProps {
  readonly title: string;
  readonly error: Error | undefined;
  readonly children: ReactNode;
}

/** Controls above the chat of a device, with the error of the last press. */
function Panel({ title, error, children }: PanelProps) {
  return (
    <section aria-label={title} className="flex shrink-0 flex-col gap-2 border-b bg-surface p-3 text-sm">
      {children}
      {error && <p role="alert">{describeError(error).title}</p>}
    </section>
  );
}

/** Parts of the device that a panel needs. */
interface PanelParts {
  /** Id of the chat that is open. */
  readonly id: string;
  /** Number of messages of the chat: a schedule that starts adds one. */
  readonly count: number;
}

/** Runs one action at a time, and keeps the error of the last one. */
export function useAction() {
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<Error>();
  return { isBusy, error, run };

  function run(action: () => Promise<unknown>): void {
    setIsBusy(true);
    setError(undefined);
    action()
      .catch((cause) => setError(cause))
      .finally(() => setIsBusy(false));
  }
}
