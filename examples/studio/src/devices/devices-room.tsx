import { useStore } from "@nanostores/react";
import clsx from "clsx";
import { ExternalLink, Power } from "lucide-react";
import { type ReactNode, type SubmitEvent, useEffect, useState } from "react";
import { Button, IconButton } from "@/components/sluice/button";
import { keptAtom } from "../browser.js";
import { inspected } from "../inspector/feed.js";
import { DEVICE_CLOSED, DEVICES_INTRO } from "../room-words.js";
import { RoomHeader } from "../shell/bars.js";
import { addressOf, type DeviceName, forgetDevices, NameField } from "./device-client.js";

/** Name of the user who is signed in on both devices; empty while nobody is. */
const signedIn = keptAtom("sluice-devices-user", "", (kept): kept is string => typeof kept === "string");

/** The room with two devices of one user. Each is a page of its own, and they share nothing but the server. */
export function DevicesRoom() {
  const user = useStore(signedIn);
  // its code is not written from settings
  useEffect(() => inspected.set(undefined));
  return (
    <>
      <RoomHeader title="Devices">
        {user !== "" && <Button look="quiet" onClick={() => void signOut(user)}>{`Sign out ${user}`}</Button>}
      </RoomHeader>
      {user === "" ? <SignIn /> : <Devices key={user} user={user} />}
    </>
  );
}

async function signOut(user: string): Promise<void> {
  // the pages close first: they would write again
  signedIn.set("");
  await forgetDevices(user);
}

function SignIn() {
  function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    signedIn.set(String(new FormData(event.currentTarget).get("name")));
  }
  return (
    <form onSubmit={submit} className="m-auto flex w-full max-w-sm flex-col gap-4 p-4">
      <p>{DEVICES_INTRO}</p>
      <NameField suggestion="ada" />
      <Button type="submit" look="primary">
        Sign in on both
      </Button>
    </form>
  );
}

function Devices({ user }: { readonly user: string }) {
  return (
    <div className="@container min-h-0 grow overflow-y-auto">
      <div className="flex min-h-full flex-col items-stretch gap-4 p-4 @2xl:h-full @2xl:flex-row @2xl:justify-center">
        <DeviceFrame
          user={user}
          device="laptop"
          className="h-120 rounded-xl @2xl:h-auto @2xl:max-w-3xl @2xl:grow"
        >
          Laptop
        </DeviceFrame>
        <DeviceFrame
          user={user}
          device="phone"
          className="mx-auto h-150 w-full max-w-80 rounded-[2rem] border-4 p-2 @2xl:mx-0 @2xl:h-auto @2xl:max-h-160 @2xl:w-72 @3xl:w-80 @2xl:shrink-0"
        >
          Phone
        </DeviceFrame>
      </div>
    </div>
  );
}

interface DeviceFrameProps {
  readonly user: string;
  readonly device: DeviceName;
  readonly className: string;
  readonly children: ReactNode;
}

/** A device. Closing it ends its page, as closing a window does. */
function DeviceFrame({ user, device, className, children }: DeviceFrameProps) {
  const [isOpen, setIsOpen] = useState(true);
  const title = device === "laptop" ? "Laptop" : "Phone";
  return (
    <section
      aria-label={title}
      className={clsx("flex min-w-0 flex-col overflow-hidden border bg-surface", className)}
    >
      <div className="flex shrink-0 items-center gap-1 pl-4">
        <h2 className="grow text-sm font-medium">{children}</h2>
        <a
          href={addressOf(user, device)}
          target="_blank"
          rel="noreferrer"
          aria-label={`${title} in a window`}
          data-tip="Open in a window"
          className="control-square inline-flex items-center justify-center rounded-lg text-muted hover:bg-hover [&_svg]:size-4.5"
        >
          <ExternalLink aria-hidden />
        </a>
        <IconButton
          label={isOpen ? `Close the ${device}` : `Open the ${device}`}
          onClick={() => setIsOpen(!isOpen)}
        >
          <Power aria-hidden />
        </IconButton>
      </div>
      {isOpen ? (
        <iframe
          title={title}
          src={addressOf(user, device)}
          className="min-h-0 w-full grow rounded-lg border bg-canvas"
        />
      ) : (
        <p className="m-auto p-4 text-sm text-muted">{DEVICE_CLOSED}</p>
      )}
    </section>
  );
}
