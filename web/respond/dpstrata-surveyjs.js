// Randomises what a SurveyJS form was answered, before the form hands it to anyone.
import { noiseRow } from "./dpstrata-respond.js";

const coded = (answer) => (typeof answer === "boolean" ? ["no", "yes"][Number(answer)] : answer);

// Lets a survey (a Model of survey-core) give away nothing but the cell of a row. Its questions have the names and the
// values of the kit's, and all of them are required. Call it before the survey is shown.
export function randomise(survey, kit, form, odds = 0) {
  survey.partialSendEnabled = false;
  survey.onCompleting.add((sender) => {
    const answers = {};
    for (const { name } of kit.forms[form].questions) answers[name] = coded(sender.getValue(name));
    sender.data = { cell: noiseRow(kit, form, odds, answers) };
  });
}
