"use client";

import { checkRequest } from "@sluice/core/schemas";
import type { ChatMessage, Conversation, VideoTaskEntry } from "@sluice/react";
import { type ReactNode, useState } from "react";
import { Button } from "@/components/sluice/button";
import { ConversationList } from "@/components/sluice/conversation-list";
import { Cost, Estimate } from "@/components/sluice/cost";
import { Elsewhere, SyncStatus } from "@/components/sluice/devices";
import { ImageTile } from "@/components/sluice/image-tile";
import { Markdown } from "@/components/sluice/markdown";
import { MediaSettings } from "@/components/sluice/media-settings";
import { UserMessage } from "@/components/sluice/message";
import { ModelMenu } from "@/components/sluice/model-menu";
import { ModelSettings } from "@/components/sluice/model-settings";
import { Popover } from "@/components/sluice/popups";
import { Select } from "@/components/sluice/select";
import { Steps } from "@/components/sluice/steps";
import { Toasts, toast } from "@/components/sluice/toasts";
import { Tooltips } from "@/components/sluice/tooltips";
import { useMediaForm } from "@/components/sluice/use-media-form";
import { createVideoForm, createVideoRequest } from "@/components/sluice/video-form";
import { VideoTaskCard } from "@/components/sluice/video-task-card";
import { GalleryChat, storage } from "./chat";
import { markdown } from "./markdown";

/* A chat, and the components in states that depend on a server, another device or a failure. */

const nothing = () => {};
const question: ChatMessage = {
  id: "q1",
  role: "user",
  content: "Why is the sea blue?",
  branches: ["q0", "q1", "q2"],
};
const conversation = { createdAt: 0, updatedAt: 0, isPinned: false };
const conversations: readonly Conversation[] = [
  { ...conversation, id: "1", title: "Tides", status: "ready", isPinned: true },
  { ...conversation, id: "2", title: "Reefs", status: "responding-elsewhere" },
  { ...conversation, id: "3", title: "Dunes", status: "requires-action" },
  { ...conversation, id: "4", title: "Rivers", status: "error" },
];
const lost: VideoTaskEntry = {
  key: "v1",
  model: "beta3.0-video",
  submittedAt: 0,
  state: "unconfirmed",
};

const thought: ChatMessage = {
  id: "a2",
  role: "assistant",
  content: "",
  outcome: "complete",
  reasoning: "The user wants an image.",
  toolCalls: [
    {
      id: "c1",
      name: "draw",
      arguments: '{"prompt":"A reef"}',
      input: { prompt: "A reef" },
      state: "needs-approval",
    },
  ],
};
const models = [
  { id: "alpha-v4.1-flash", name: "Alpha", note: "Fast, and sees images" },
  { id: "delta-5.3", name: "Delta", note: "Thinks before each response" },
] as const;
const plain = { values: {}, offersTools: true, wantsJSON: false, instructions: "" };
const ratios = [
  { value: "1:1", label: "Square" },
  { value: "16:9", label: "Wide", note: "As on a screen" },
] as const;

/** A page of the components. */
export function Gallery() {
  const [pressed, setPressed] = useState("nothing");
  const [model, setModel] = useState<(typeof models)[number]["id"]>("delta-5.3");
  const [settings, setSettings] = useState(plain);
  const [ratio, setRatio] = useState<(typeof ratios)[number]["value"]>("1:1");
  const press = (name: string) => () => setPressed(name);
  return (
    <main className="mx-auto flex max-w-3xl flex-col gap-6 p-6">
      <h1 className="text-lg font-semibold">Components of Sluice</h1>
      <Part title="Chat">
        <GalleryChat />
      </Part>
      <p role="status">Pressed: {pressed}</p>
      <Part title="Conversations">
        <ConversationList
          conversations={conversations}
          activeId="1"
          onOpen={press("conversation")}
          onUpdate={press("update")}
          onRemove={press("delete conversation")}
        />
      </Part>
      <Part title="Branches">
        <UserMessage message={question} onEdit={nothing} onSwitchBranch={press("version")} />
      </Part>
      <Part title="Steps">
        <Steps
          replies={[thought]}
          isBusy={false}
          toolTitles={{ draw: "Make an image" }}
          estimateTool={() => ({ amount: 0.04, min: 0.04, currency: "USD", missing: [] })}
          onApprove={press("approve")}
          onDeny={press("deny")}
        />
      </Part>
      <Part title="Markdown">
        <Markdown text={markdown} />
      </Part>
      <Part title="Model">
        <ModelMenu models={models} model={model} onChange={setModel} />
        <ModelSettings
          model={model}
          settings={settings}
          onChange={(changes) => setSettings({ ...settings, ...changes })}
        />
      </Part>
      <Part title="Form of a video">
        <VideoSettings />
      </Part>
      <Part title="Devices">
        <Elsewhere chat={{ isRunningElsewhere: true, stop: press("stop") }} />
        <SyncStatus chat={{ persistence: { status: "saving", pending: 1 } }} />
        <SyncStatus chat={{ persistence: { status: "error", pending: 1, error: new Error("no network") } }} />
        <SyncStatus chat={{ persistence: { status: "unsaved", pending: 2 } }} />
      </Part>
      <Part title="Cost">
        <Cost cost={{ amount: 0.0214, currency: "USD", missing: ["a response"] }} />
        <Estimate estimate={{ amount: 120, min: 30, currency: "USD", missing: [] }}>
          <Button onClick={press("generate")}>Generate</Button>
        </Estimate>
      </Part>
      <Part title="Images and videos">
        <ImageTile
          image={{ error: { message: "The image was refused." } }}
          prompt="A reef"
          size="2048x1024"
          actions={[]}
          onOpen={nothing}
          onDownload={nothing}
          onRemove={press("delete image")}
        />
        <VideoTaskCard entry={lost} onCheck={nothing} onRetry={press("retry anyway")} onRemove={nothing} />
      </Part>
      <Part title="Choices and messages">
        <Popover title="Shape" trigger={<Button>Shape</Button>}>
          <Select label="Ratio" value={ratio} options={ratios} onChange={setRatio} />
        </Popover>
        <Button onClick={() => toast("Image deleted", { onUndo: press("undo") })}>Delete the image</Button>
      </Part>
      <Toasts />
      <Tooltips />
    </main>
  );
}

/** The settings of a video. */
function VideoSettings() {
  const form = useMediaForm({
    kind: "video",
    storage,
    initial: "beta3.0-video",
    createForm: createVideoForm,
    check: ({ model, values }) => checkRequest(createVideoRequest(model, values)).issues,
  });
  return (
    <div className="flex flex-wrap gap-2">
      <MediaSettings form={form} />
    </div>
  );
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section aria-label={title} className="flex flex-col gap-3">
      <h2 className="text-sm font-medium text-muted-foreground">{title}</h2>
      {children}
    </section>
  );
}
