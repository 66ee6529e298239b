import { FleetPage } from "../fleet/page";
import { connection } from "../live/session";
import { Banner } from "./banner";
import { Incidents } from "./incidents";
import { Header } from "./header";
import { SignIn } from "./sign_in";

export function App() {
  const state = connection.value;
  return (
    <>
      <Header />
      <Banner />
      <Incidents />
      {state.kind === "signed-out" ? <SignIn reason={state.reason} /> : <FleetPage />}
    </>
  );
}
