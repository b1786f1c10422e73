import { createClient, streamResumption } from "@sluice/core";
import { GatewayProvider, signOut } from "@sluice/react";
import { useState } from "react";
import { Chat, type Models } from "./chat";
import { createHeaders, endSession, type Session } from "./session";
import { SignIn } from "./sign-in";
import "./chat.css";

/** The whole app: a chat for a signed-in user. `models` come from the server, and the first one is preselected. */
export function ChatApp({ models }: { models: Models }) {
  return (
    <div className="chat">
      <SignIn>{(session) => <SignedIn session={session} models={models} />}</SignIn>
    </div>
  );
}

function SignedIn({ session, models }: { session: Session; models: Models }) {
  // the server at this URL adds the key
  const [client] = useState(() =>
    createClient({
      baseURL: "/api",
      user: session.user,
      headers: createHeaders(session),
      resume: streamResumption(),
    }),
  );

  async function handleSignOut() {
    await signOut(client);
    endSession();
    location.reload();
  }

  return (
    <GatewayProvider client={client}>
      <p className="account">
        {session.isDevelopment ? "Development user (not in production)" : session.user}{" "}
        <button type="button" onClick={handleSignOut}>
          Sign out
        </button>
      </p>
      <Chat models={models} />
    </GatewayProvider>
  );
}
