import { createClient, streamResumption } from "@sluice/core";
import { GatewayProvider, signOut } from "@sluice/react";
import { useState } from "react";
import { Button } from "@/components/sluice/button";
import { Rooms } from "./rooms/rooms";
import { endSession, headersOf, type Session } from "./session/session";
import { SignIn } from "./session/sign-in";

/** The whole app: its rooms, for a user who is signed in. */
export function StudioApp() {
  return <SignIn>{(session) => <SignedIn session={session} />}</SignIn>;
}

function SignedIn({ session }: { session: Session }) {
  // the server at this URL adds the key
  const [client] = useState(() =>
    createClient({
      baseURL: "/api",
      user: session.user,
      headers: headersOf(session),
      resume: streamResumption(),
    }),
  );

  async function leave() {
    await signOut(client);
    endSession();
    location.reload();
  }

  return (
    <GatewayProvider client={client}>
      <Rooms>
        <span className="truncate text-sm text-muted-foreground max-sm:sr-only">
          {session.isDevelopment ? "Development user (not in production)" : session.user}
        </span>
        <Button look="quiet" onClick={leave}>
          Sign out
        </Button>
      </Rooms>
    </GatewayProvider>
  );
}
