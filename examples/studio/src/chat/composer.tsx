import { useStore } from "@nanostores/react";
import type { ChatState, useAttachments } from "@sluice/react";
import { SlidersHorizontal } from "lucide-react";
import type { ReactNode, RefObject } from "react";
import { AttachButton, Attachments } from "@/components/sluice/attachments";
import { IconButton, Skeleton } from "@/components/sluice/button";
import { Queue } from "@/components/sluice/composer";
import { later } from "../ui/later.js";
import { Popover } from "../ui/popups.js";
import { MOST_FILES, type Refused, refusedWords } from "../words.js";
import { pasteOf, useRefusals } from "./documents.js";
import { MessageBox } from "./message-box.js";
import { type ChatSettings, changeSettings, chatSettings, modelWords } from "./settings.js";

const ModelSettings = later(async () => (await import("@/components/sluice/model-settings")).ModelSettings);

type AttachmentState = ReturnType<typeof useAttachments>;

interface ComposerProps {
  /** Name of the draft: the conversation, or "new". */
  readonly draftKey: string;
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly settings: ChatSettings;
  readonly attachments: AttachmentState;
  readonly isBusy: boolean;
  /** Messages that wait for the answer in flight. */
  readonly queued: ChatState["queued"];
  readonly onSend: (text: string, images: readonly Blob[]) => Promise<boolean>;
  readonly onStop: () => void;
  readonly onCancelQueued: (id: string) => void;
  readonly onRetry: () => void;
  /** Content below the box, for a text and a number of images. */
  readonly below?: (text: string, images: number) => ReactNode;
  /** Menus beside the button that adds images. */
  readonly children?: ReactNode;
}

/** The place to write a message, with its images, and with the menus of the chat. */
export function Composer(props: ComposerProps) {
  const { draftKey, field, settings, attachments, isBusy, onSend, onStop } = props;
  const { images, problems, isPreparing, isBlind } = attachments;
  const [seeing] = attachments.switchTo;
  const [refusals, dismiss] = useRefusals(draftKey);

  async function send(text: string): Promise<boolean> {
    const files = attachments.attachments.map(({ file }) => file);
    attachments.clear();
    const isSent = await onSend(text, images);
    if (!isSent) attachments.add(files);
    return isSent;
  }

  return (
    <MessageBox
      draftKey={draftKey}
      field={field}
      onSend={send}
      isBusy={isBusy}
      onStop={onStop}
      hasFiles={images.length > 0}
      isBlocked={isPreparing || isBlind}
      onPaste={pasteOf(attachments, draftKey)}
      {...(props.below && { below: (text) => props.below?.(text, images.length) })}
      before={
        <Queue
          queued={props.queued}
          isBusy={isBusy}
          onCancel={props.onCancelQueued}
          onRetry={props.onRetry}
        />
      }
      above={
        <Attachments
          attachments={attachments}
          model={modelWords[settings.model].name}
          seeingModel={seeing && modelWords[seeing].name}
          onSwitchModel={() => seeing && changeSettings({ model: seeing })}
          refusals={[...refusedWords(problems.map(refusalOf)), ...refusals]}
          onDismiss={() => {
            dismiss();
            field.current?.focus();
          }}
        />
      }
    >
      <AttachButton attachments={attachments} className="short:order-1" />
      <div className="flex min-w-0 grow items-center gap-1 short:order-3 short:grow-0">{props.children}</div>
    </MessageBox>
  );
}

function refusalOf({ problem, message }: AttachmentState["problems"][number]): Refused {
  return problem === "number" ? { reason: problem, most: MOST_FILES } : { reason: problem, text: message };
}

/** The settings of the model, and whether tools are offered. */
export function SettingsMenu() {
  const settings = useStore(chatSettings);
  return (
    <Popover
      title="Settings"
      trigger={
        <IconButton label="Settings">
          <SlidersHorizontal aria-hidden />
        </IconButton>
      }
    >
      <ModelSettings
        model={settings.model}
        settings={settings}
        onChange={changeSettings}
        fallback={<Skeleton className="h-40" />}
      />
    </Popover>
  );
}
