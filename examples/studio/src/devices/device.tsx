import { useStore } from "@nanostores/react";
import { GatewayProvider, useConversations } from "@sluice/react";
import { Plus, Wifi, WifiOff } from "lucide-react";
import { useEffect, useState } from "react";
import { Chip, IconButton } from "@/components/sluice/button";
import { networkWords } from "../room-words.js";
import { DeviceChat } from "./device-chat.js";
import { deviceNames, openDevice } from "./device-client.js";

/* A device of the room "Devices": a page of its own, in a frame or a window. */

const address = new URLSearchParams(location.search);
const user = address.get("user") || "ada";
const name = deviceNames.find((known) => known === address.get("device")) ?? "laptop";
const { client, storage, isOffline, setIsOffline } = openDevice(user, name);

/** The conversations of the user, and the one that is open. */
function Device() {
  const [chosen, choose] = useState<string>();
  const isCut = useStore(isOffline);
  const { conversations, isRestoring, create } = useConversations({ storage, activeId: chosen });
  // a chat that was never written to has no record: this device begins it
  const [fresh] = useState(create);
  const [newest] = conversations;
  // it stays open when another one is written to
  if (chosen === undefined && newest) choose(newest.id);
  const id = chosen ?? newest?.id ?? fresh;
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
        <IconButton label={networkWords(isCut)} aria-pressed={isCut} onClick={() => setIsOffline(!isCut)}>
          {isCut ? <WifiOff aria-hidden /> : <Wifi aria-hidden />}
        </IconButton>
      </nav>
      {!isRestoring && <DeviceChat key={id} id={id} storage={storage} isOffline={isCut} />}
    </div>
  );
}

/** The page of a device. */
export function DevicePage() {
  useEffect(() => {
    document.title = `${name} of ${user}`;
  }, []);
  return (
    <GatewayProvider client={client}>
      <main className="h-full">
        <h1 className="sr-only">{`${name} of ${user}`}</h1>
        <Device />
      </main>
    </GatewayProvider>
  );
}
