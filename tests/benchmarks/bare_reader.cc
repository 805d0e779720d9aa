#include "benchmarks/bare_reader.h"

#include <otf2/otf2.h>

namespace farscale::bench {
namespace {

OTF2_CallbackCode OnRegion(OTF2_LocationRef, OTF2_TimeStamp, std::uint64_t, void*, OTF2_AttributeList*,
                           OTF2_RegionRef) {
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode OnMetric(OTF2_LocationRef, OTF2_TimeStamp, std::uint64_t, void*, OTF2_AttributeList*, OTF2_MetricRef,
                           std::uint8_t, const OTF2_Type*, const OTF2_MetricValue*) {
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode OnMessage(OTF2_LocationRef, OTF2_TimeStamp, std::uint64_t, void*, OTF2_AttributeList*, std::uint32_t,
                            OTF2_CommRef, std::uint32_t, std::uint64_t, std::uint64_t) {
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode OnRequest(OTF2_LocationRef, OTF2_TimeStamp, std::uint64_t, void*, OTF2_AttributeList*,
                            std::uint64_t) {
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode OnCollective(OTF2_LocationRef, OTF2_TimeStamp, std::uint64_t, void*, OTF2_AttributeList*,
                               OTF2_CollectiveOp, OTF2_CommRef, std::uint32_t, std::uint64_t, std::uint64_t) {
  return OTF2_CALLBACK_SUCCESS;
}

}  // namespace

std::uint64_t ReadWithEmptyCallbacks(const std::string& anchor, std::uint64_t ranks) {
  OTF2_Reader* reader = OTF2_Reader_Open(anchor.c_str());
  OTF2_Reader_SetSerialCollectiveCallbacks(reader);
  OTF2_GlobalDefReader* definitions = OTF2_Reader_GetGlobalDefReader(reader);
  std::uint64_t count = 0, events = 0;
  OTF2_Reader_ReadAllGlobalDefinitions(reader, definitions, &count);
  for (std::uint64_t rank = 0; rank < ranks; ++rank) OTF2_Reader_SelectLocation(reader, rank);
  OTF2_Reader_OpenEvtFiles(reader);
  OTF2_EvtReaderCallbacks* callbacks = OTF2_EvtReaderCallbacks_New();
  OTF2_EvtReaderCallbacks_SetEnterCallback(callbacks, OnRegion);
  OTF2_EvtReaderCallbacks_SetLeaveCallback(callbacks, OnRegion);
  OTF2_EvtReaderCallbacks_SetMetricCallback(callbacks, OnMetric);
  OTF2_EvtReaderCallbacks_SetMpiIsendCallback(callbacks, OnMessage);
  OTF2_EvtReaderCallbacks_SetMpiIrecvCallback(callbacks, OnMessage);
  OTF2_EvtReaderCallbacks_SetMpiIrecvRequestCallback(callbacks, OnRequest);
  OTF2_EvtReaderCallbacks_SetMpiIsendCompleteCallback(callbacks, OnRequest);
  OTF2_EvtReaderCallbacks_SetMpiCollectiveEndCallback(callbacks, OnCollective);
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    OTF2_EvtReader* location = OTF2_Reader_GetEvtReader(reader, rank);
    OTF2_Reader_RegisterEvtCallbacks(reader, location, callbacks, nullptr);
    OTF2_Reader_ReadAllLocalEvents(reader, location, &count);
    events += count;
    OTF2_Reader_CloseEvtReader(reader, location);
  }
  OTF2_EvtReaderCallbacks_Delete(callbacks);
  OTF2_Reader_CloseEvtFiles(reader);
  OTF2_Reader_Close(reader);
  return events;
}

}  // namespace farscale::bench
