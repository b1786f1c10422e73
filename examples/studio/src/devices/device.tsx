import { useStore } from "@nanostores/react";
import { joinConversation } from "@sluice/core/remote";
import { GatewayProvider } from "@sluice/react";
import { describeError, useConversations } from "@sluice/react/app";
import { CalendarClock, LogOut, Plus, Share2, Wifi, WifiOff } from "lucide-react";
import { type ReactNode, type SubmitEvent, useEffect, useState } from "react";
import { Button, Chip, IconButton } from "@/components/sluice/button";
import { ASK_FIRST, networkWords, shareWords } from "../room-words.js";
import { DeviceChat } from "./device-chat.js";
import { addressOf, deviceNames, NameField, openDevice } from "./device-client.js";
import { Schedules, Share, useAction } from "./panels.js";

/* A device of the room "Devices": a page of its own, in a frame or a window. */

const address = new URLSearchParams(location.search);
const user = address.get("user") || "ada";
const name = deviceNames.find((known) => known === address.get("device")) ?? "laptop";
const { client, storage, isOffline, setIsOffline } = openDevice(user, name);

/** Panels above the chat. */
const panels = { schedules: Schedules, share: Share } as const;
type PanelName = keyof typeof panels;

/** The conversations of the user, and the one that is open. */
function Device() {
  const [chosen, choose] = useState(address.get("chat") ?? undefined);
  const [panel, setPanel] = useState<PanelName>();
  const isCut = useStore(isOffline);
  const { conversations, active, isRestoring, create } = useConversations({ storage, activeId: chosen });
  // a chat that was never written to has no record: this device begins it
  const [fresh] = useState(create);
  const [newest] = conversations;
  // it stays open when another one is written to
  if (chosen === undefined && newest) choose(newest.id);
  const id = chosen ?? newest?.id ?? fresh;
  // the others know a chat from its first question on
  const isListed = active !== undefined;
  const isOwn = active?.shared === undefined && name !== "guest";
  const Shown = isOwn && panel ? panels[panel] : undefined;
  const toggle = (of: PanelName, label: string, icon: ReactNode) => (
    <IconButton
      label={label}
      aria-expanded={panel === of}
      onClick={() => setPanel(panel === of ? undefined : of)}
    >
      {icon}
    </IconButton>
  );
  return (
    <div className="flex h-full flex-col">
      <nav aria-label="Conversations" className="flex shrink-0 items-center gap-1 border-b bg-surface p-2">
        <IconButton label="New chat" onClick={() => choose(create())}>
          <Plus aria-hidden />
        </IconButton>
        <div className="flex min-w-0 grow gap-1 overflow-x-auto p-1">
          {conversations.map((one) => (
            <Chip key={one.id} isPressed={one.id === id} onClick={() => choose(one.id)}>
              <span className="max-w-40 truncate">{one.title || "New chat"}</span>
            </Chip>
          ))}
        </div>
        {name === "guest" && (
          <IconButton label={`Sign out ${user}`} onClick={() => void signOut()}>
            <LogOut aria-hidden />
          </IconButton>
        )}
        {isOwn && toggle("schedules", "Schedules", <CalendarClock aria-hidden />)}
        {isOwn && toggle("share", "Share", <Share2 aria-hidden />)}
        <IconButton label={networkWords(isCut)} aria-pressed={isCut} onClick={() => setIsOffline(!isCut)}>
          {isCut ? <WifiOff aria-hidden /> : <Wifi aria-hidden />}
        </IconButton>
      </nav>
      {!isRestoring && (
        <DeviceChat
          key={id}
          id={id}
          storage={storage}
          isOffline={isCut}
          panel={Shown && ((count) => (isListed ? <Shown id={id} count={count} /> : <Unlisted />))}
        />
      )}
    </div>
  );
}

/** The panel of a chat that no other device can find yet. */
function Unlisted() {
  return <p className="border-b bg-surface p-3 text-sm text-muted">{ASK_FIRST}</p>;
}

/** Forgets a guest, and leaves the page. The other devices are signed out in their room. */
async function signOut(): Promise<void> {
  await client.forget();
  location.replace("./#/devices");
}

/** The page behind a link: signs in by another name, joins the chat, and opens it. */
function Join() {
  const { isBusy, error, run } = useAction();
  function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    const user = String(new FormData(event.currentTarget).get("name"));
    run(async () => {
      const { id } = await joinConversation(openDevice(user, "guest").client, location.hash.slice(1));
      location.replace(addressOf(user, "guest", id));
    });
  }
  return (
    <form onSubmit={submit} className="m-auto flex w-full max-w-sm flex-col gap-4 p-4">
      <h1>{shareWords.intro}</h1>
      <NameField suggestion="bob" />
      <Button type="submit" look="primary" disabled={isBusy}>
        {shareWords.join}
      </Button>
      {error && <p role="alert">{describeError(error).title}</p>}
    </form>
  );
}

/** The page of a device. */
export function DevicePage() {
  useEffect(() => {
    document.title = `${name} of ${user}`;
  }, []);
  if (name === "guest" && !address.has("user"))
    return (
      <main className="flex h-full">
        <Join />
      </main>
    );
  return (
    <GatewayProvider client={client}>
      <main className="h-full">
        <h1 className="sr-only">{`${name} of ${user}`}</h1>
        <Device />
      </main>
    </GatewayProvider>
  );
}
